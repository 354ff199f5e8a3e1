/** The rules of the tiers, for every combination of states of the pools. Each adapter of `NodeClient` passes them. */
import { expect, test } from 'vitest'
import type { NodeClient } from '../../cache/node-client.ts'
import { recordedCache, stamped, type Behaviour, type PoolName } from './recording.ts'

/** The default of the cache. */
const TTL_MS = 600_000
const ENDS_AT = Date.now() + TTL_MS
const READ_ORDER = ['l1', 'main', 'backup'] as const
const STATES = ['hit', 'miss', 'stale', 'damaged', 'fails'] as const
type State = (typeof STATES)[number]

/** The write into a pool that was read before the value was found, by its state. */
const FILLS: Record<State, string | undefined> = { hit: undefined, miss: 'fill', stale: 'replace', damaged: 'replace', fails: undefined }

const [fresh, old, torn, loaded] = [stamped('fresh', 5), stamped('old', 4), stamped('torn', 5), stamped('loaded', 5)]
const STORED = { hit: fresh, stale: old, damaged: torn }
let unique = 0
const nextKey = (): string => `k${process.pid}:${++unique}`

const READS = STATES.flatMap((l1) => STATES.flatMap((main) => STATES.map((backup) => ({ l1, main, backup }))))

const WRITES: { main: Behaviour; backup: Behaviour | 'none'; calls: string[]; isStored: boolean }[] = [
  { main: 'works', backup: 'works', calls: ['set main', 'copy backup', 'copy l1', 'copy other l1'], isStored: true },
  { main: 'works', backup: 'fails', calls: ['set main', 'copy backup', 'copy l1', 'copy other l1'], isStored: true },
  { main: 'works', backup: 'none', calls: ['set main', 'copy l1', 'copy other l1'], isStored: true },
  { main: 'fails', backup: 'works', calls: ['set main', 'set backup', 'copy l1', 'copy other l1'], isStored: true },
  { main: 'refuses', backup: 'works', calls: ['set main', 'set backup', 'copy l1', 'copy other l1'], isStored: true },
  { main: 'fails', backup: 'fails', calls: ['set main', 'set backup'], isStored: false },
  { main: 'refuses', backup: 'refuses', calls: ['set main', 'set backup'], isStored: false },
  { main: 'fails', backup: 'none', calls: ['set main'], isStored: false },
]

const GETS: { main: State; backup: State | 'none'; calls: string[]; pool: string | undefined }[] = [
  { main: 'hit', backup: 'hit', calls: ['read main'], pool: 'main' },
  { main: 'miss', backup: 'hit', calls: ['read main', 'read backup'], pool: 'backup' },
  { main: 'fails', backup: 'hit', calls: ['read main', 'read backup'], pool: 'backup' },
  { main: 'miss', backup: 'miss', calls: ['read main', 'read backup'], pool: undefined },
  { main: 'fails', backup: 'fails', calls: ['read main', 'read backup'], pool: undefined },
  { main: 'miss', backup: 'none', calls: ['read main'], pool: undefined },
]

const CAS: { from: 'main' | 'backup'; meanwhile: 'nothing' | 'another write' | 'failure'; calls: string[]; isStored: boolean }[] = [
  { from: 'main', meanwhile: 'nothing', calls: ['cas main', 'copy backup', 'copy l1', 'copy other l1'], isStored: true },
  { from: 'backup', meanwhile: 'nothing', calls: ['cas backup', 'copy main', 'copy l1', 'copy other l1'], isStored: true },
  { from: 'main', meanwhile: 'another write', calls: ['cas main'], isStored: false },
  { from: 'backup', meanwhile: 'another write', calls: ['cas backup'], isStored: false },
  { from: 'main', meanwhile: 'failure', calls: ['cas main'], isStored: false },
  { from: 'backup', meanwhile: 'failure', calls: ['cas backup'], isStored: false },
]

type Open = () => Record<PoolName, NodeClient>

export function tierRules(open: Open): void {
  readRules(open)
  writeRules(open)
}

function makeRig(open: Open) {
  async function given(
    states: Partial<Record<PoolName, State>>,
  ): Promise<{ key: string; behaviour: Partial<Record<PoolName, Behaviour>> }> {
    const key = nextKey()
    const behaviour: Partial<Record<PoolName, Behaviour>> = {}
    for (const [name, state] of Object.entries(states) as [PoolName, State][]) {
      if (state === 'fails') behaviour[name] = 'fails'
      else if (state !== 'miss') await open()[name].set(key, STORED[state], ENDS_AT)
    }
    return { key, behaviour }
  }

  async function textIn(name: PoolName, key: string): Promise<string | undefined> {
    const [held] = await open()[name].getMany([key])
    return held?.value.toString()
  }

  async function endIn(name: PoolName, key: string): Promise<number> {
    const [held] = await open()[name].getMany([key])
    return held?.endsAt ?? 0
  }

  return { given, textIn, endIn }
}

function readRules(open: Open): void {
  const { given, textIn, endIn } = makeRig(open)

  test.each(READS)('a read with L1 $l1, Main $main and Backup $backup asks and fills exactly the pools of the rule', async (states) => {
    const { key, behaviour } = await given(states)
    const { cache, calls } = recordedCache(open(), behaviour)
    const found = READ_ORDER.findIndex((name) => states[name] === 'hit')
    const asked = found === -1 ? READ_ORDER : READ_ORDER.slice(0, found + 1)
    const fills = asked.flatMap((name) => (FILLS[states[name]] === undefined ? [] : [`${FILLS[states[name]]} ${name}`]))

    const [value] = await cache.getMany(
      [key],
      async () => [loaded],
      () => 5,
      (_, bytes) => bytes.toString() !== 'torn',
    )

    expect(value?.value.toString()).toBe(found === -1 ? 'loaded' : 'fresh')
    const { stale, damaged } = cache.figures().classes['k'] ?? {}
    const ofState = (state: State) => asked.filter((name) => states[name] === state).length
    expect({ stale, damaged }).toEqual({ stale: ofState('stale'), damaged: ofState('damaged') })
    expect(calls).toEqual([...asked.map((name) => `read ${name}`), ...fills, ...(found === -1 ? ['fill other l1'] : [])])
    for (const name of asked) {
      if (states[name] !== 'fails') expect(await textIn(name, key)).toBe(found === -1 ? 'loaded' : 'fresh')
    }
    await cache.stop()
  })

  test('a fill does not prolong the life of a value', async () => {
    const { key } = await given({ backup: 'hit' })
    const { cache } = recordedCache(open(), {})
    await cache.getMany([key], () => Promise.reject(new Error('not needed')))
    const end = await endIn('backup', key)
    expect(Math.abs(end - ENDS_AT)).toBeLessThanOrEqual(1_000)
    expect(await endIn('main', key)).toBe(end)
    expect(await endIn('l1', key)).toBe(end)
    await cache.stop()
  })

  test('the life of a loaded value begins before its load', async () => {
    const key = nextKey()
    const { cache } = recordedCache(open(), {})
    let begunAt = 0
    const load = async () => {
      begunAt = Date.now()
      await new Promise((resolve) => setTimeout(resolve, 30))
      return [fresh]
    }
    await cache.getMany([key], load)

    for (const name of ['l1', 'main', 'backup', 'other l1'] as const) {
      const end = await endIn(name, key)
      expect(end).toBeGreaterThan(begunAt)
      expect(end).toBeLessThanOrEqual(begunAt + TTL_MS)
    }
    await cache.stop()
  })

  test('a value that does not exist fills no pool', async () => {
    const { cache, calls } = recordedCache(open(), {})
    expect(await cache.getMany([nextKey()], async () => [undefined])).toEqual([undefined])
    expect(calls).toEqual(['read l1', 'read main', 'read backup'])
    await cache.stop()
  })

  test('a load that fails rejects the read and fills no pool', async () => {
    const { cache, calls } = recordedCache(open(), {})
    await expect(cache.getMany([nextKey()], () => Promise.reject(new Error('the store is down')))).rejects.toThrow('the store is down')
    expect(calls).toEqual(['read l1', 'read main', 'read backup'])
    await cache.stop()
  })
}

function writeRules(open: Open): void {
  const { given, textIn } = makeRig(open)

  test.each(WRITES)(
    'a write with Main that $main and Backup that $backup reaches exactly the pools of the rule',
    async ({ main, backup, ...expected }) => {
      const key = nextKey()
      const { cache, calls } = recordedCache(open(), { main, ...(backup === 'none' ? {} : { backup }) }, backup !== 'none')
      expect(await cache.set(key, fresh)).toBe(expected.isStored)
      expect(calls).toEqual(expected.calls)
      for (const name of ['l1', 'other l1'] as const) expect(await textIn(name, key)).toBe(expected.isStored ? 'fresh' : undefined)
      await cache.stop()
    },
  )

  test.each(GETS)('gets with Main $main and Backup $backup never asks L1', async ({ main, backup, ...expected }) => {
    const { key, behaviour } = await given({ main, l1: 'hit', 'other l1': 'hit', ...(backup === 'none' ? {} : { backup }) })
    const { cache, calls } = recordedCache(open(), behaviour, backup !== 'none')
    const found = await cache.gets(key)
    expect(found?.token.pool).toBe(expected.pool)
    expect(calls).toEqual(expected.calls)
    await cache.stop()
  })

  test.each(CAS)(
    'cas of a value of $from after $meanwhile reaches exactly the pools of the rule',
    async ({ from, meanwhile, ...expected }) => {
      const { key, behaviour } = await given({ main: from === 'main' ? 'hit' : 'miss', backup: 'hit' })
      const { cache, calls } = recordedCache(open(), behaviour)
      const found = await cache.gets(key)
      if (meanwhile === 'failure') behaviour[from] = 'fails'
      if (meanwhile === 'another write') await open()[from].set(key, stamped('other', 6), ENDS_AT)
      calls.length = 0
      expect(await cache.cas(key, stamped('changed', 7), (found as NonNullable<typeof found>).token)).toBe(expected.isStored)
      expect(calls).toEqual(expected.calls)
      for (const name of ['main', 'backup', 'l1', 'other l1'] as const) {
        if (expected.isStored) expect(await textIn(name, key)).toBe('changed')
        else expect(await textIn(name, key)).not.toBe('changed')
      }
      await cache.stop()
    },
  )
}
