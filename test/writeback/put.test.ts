import { expect, test } from 'vitest'
import type { Degraded } from '../../core/outage/degraded.ts'
import { TidemarkError } from '../../core/errors.ts'
import { PartOutage } from '../../core/outage/part-outage.ts'
import { ATTEMPTS_MAX, makePut, type Put } from '../../writeback/put.ts'

type Write = { viewer: string; business: number; oid: string; isNow: boolean; at: number }
type Outcome = { status: 'written' | 'journaled'; at: number } | { status: 'stale'; newest: number; repeated?: boolean }

const RULES = {
  timeOf: ({ at }: Write) => at,
  isOvertaken: (_: Write, outcome: Outcome) => outcome.status === 'stale' && outcome.repeated !== true,
  raise: (write: Write, outcome: Outcome) => (outcome.status === 'stale' ? { ...write, at: outcome.newest + 1 } : write),
}
const DOWN = new TidemarkError('HOT_STORE_UNAVAILABLE', 'the hot store is down: try again')
const degraded: Degraded = new Set()

const report = (viewer: string, at: number, isNow = true): Write => ({ viewer, business: 1, oid: '1', isNow, at })

/** Stands for a hot store that keeps the newest time per viewer; a viewer in `down` is in a part that does not answer. */
function makeHot(newest: Record<string, number>, down: ReadonlySet<string> = new Set()) {
  const calls: string[][] = []
  const put: Put<Write, Outcome> = async (writes) => {
    calls.push(writes.map(({ viewer, at }) => `${viewer}@${at}`))
    const outcomes = writes.map(({ viewer, at }): Outcome => {
      if (down.has(viewer)) return { status: 'written', at }
      const stored = newest[viewer] ?? 0
      if (at <= stored) return { status: 'stale', newest: stored }
      newest[viewer] = at
      return { status: 'written', at }
    })
    if (writes.some(({ viewer }) => down.has(viewer))) throw new PartOutage(DOWN, (viewer) => down.has(viewer))
    return outcomes
  }
  return { calls, put }
}

function makeJournal(waiting: readonly string[] = []) {
  const journaled: string[] = []
  return {
    journaled,
    mustJournal: (viewer: string) => waiting.includes(viewer),
    isOut: (error: unknown) => error instanceof TidemarkError && error.code === 'HOT_STORE_UNAVAILABLE',
    append: async (writes: readonly Write[]): Promise<Outcome[]> => {
      journaled.push(...writes.map(({ viewer, at }) => `${viewer}@${at}`))
      return writes.map(({ at }) => ({ status: 'journaled', at }))
    },
  }
}

test('an overtaken current write is put again just above, and an overtaken old one stays stale', async () => {
  const { calls, put } = makeHot({ a: 50, b: 50 })
  const outcomes = await makePut(RULES, put)([report('a', 10), report('b', 10, false)], 10, degraded)
  expect(outcomes).toEqual([
    { status: 'written', at: 51 },
    { status: 'stale', newest: 50 },
  ])
  expect(calls).toEqual([['a@10', 'b@10'], ['a@51']])
})

test('of two current writes of one key in a call, the earlier one is not put above the later one', async () => {
  const { put } = makeHot({})
  const outcomes = await makePut(RULES, put)([report('a', 20), report('a', 10)], 20, degraded)
  expect(outcomes).toEqual([
    { status: 'written', at: 20 },
    { status: 'stale', newest: 20 },
  ])
})

test('a write that is overtaken at each attempt is stale in the end', async () => {
  let newest = 100
  let calls = 0
  const put: Put<Write, Outcome> = async () => {
    calls++
    return [{ status: 'stale', newest: newest++ }]
  }
  expect(await makePut(RULES, put)([report('a', 10)], 10, degraded)).toEqual([{ status: 'stale', newest: 105 }])
  expect(calls).toBe(1 + ATTEMPTS_MAX)
})

test('writes of viewers with a waiting entry go to the journal, and the others to the hot store', async () => {
  const { calls, put } = makeHot({})
  const journal = makeJournal(['b'])
  const outcomes = await makePut(RULES, put, journal)([report('a', 1), report('b', 2), report('c', 3)], 3, degraded)
  expect(outcomes.map(({ status }) => status)).toEqual(['written', 'journaled', 'written'])
  expect([calls, journal.journaled]).toEqual([[['a@1', 'c@3']], ['b@2']])
})

test('while the hot store is out all writes go to the journal, and a failure of another kind rejects', async () => {
  const journal = makeJournal()
  const outcomes = await makePut(RULES, () => Promise.reject(DOWN), journal)([report('a', 1), report('b', 2)], 2, degraded)
  expect(outcomes.map(({ status }) => status)).toEqual(['journaled', 'journaled'])
  const damaged = new TidemarkError('DATA_DAMAGED', 'the record of viewer a is damaged: restore it')
  await expect(makePut(RULES, () => Promise.reject(damaged), journal)([report('a', 1)], 1, degraded)).rejects.toBe(damaged)
  expect(journal.journaled).toEqual(['a@1', 'b@2'])
})

test('if a part of the hot store is out, its viewers go to the journal and all others are put again', async () => {
  const { calls, put } = makeHot({}, new Set(['b']))
  const journal = makeJournal()
  const outcomes = await makePut(RULES, put, journal)([report('a', 1), report('b', 2)], 2, degraded)
  // The first call has put a's write already, so the second one may not raise it.
  expect(outcomes).toEqual([
    { status: 'stale', newest: 1, repeated: true },
    { status: 'journaled', at: 2 },
  ])
  expect([calls.length, journal.journaled]).toEqual([3, ['b@2']])
})

test('without a journal, the put rejects if a part is out, and the writes of other viewers are stored', async () => {
  const { calls, put } = makeHot({})
  const refusing: Put<Write, Outcome> = async (writes, ...call) => {
    if (writes.some(({ viewer }) => viewer === 'b')) throw new PartOutage(DOWN, (viewer) => viewer === 'b')
    return put(writes, ...call)
  }
  const outcome = makePut(RULES, refusing)([report('a', 1), report('b', 2)], 2, degraded)
  await expect(outcome).rejects.toMatchObject({ code: 'HOT_STORE_UNAVAILABLE' })
  expect(calls).toEqual([['a@1']])
})
