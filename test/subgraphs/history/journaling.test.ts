/** The order and the retries of waiting entries, on a real journal. The hot store is a function that accepts or refuses an entry. */
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { makeBreaker } from '../../../core/outage/breaker.ts'
import { systemClock, type Clock } from '../../../core/clock.ts'
import { TidemarkError, type ErrorCode } from '../../../core/errors.ts'
import { makePartBreaker } from '../../../core/outage/part-breaker.ts'
import type { JournalEntry, Journals } from '../../../writeback/journal.ts'
import { openLmdbJournals } from '../../../writeback/stores/lmdb/journal.ts'
import { makeJournaling, type Journaling, type JournalingOptions } from '../../../writeback/journaling.ts'
import { report, write } from '../../contracts/reports.ts'
import { makeSteppedClock } from '../../../harness/stepped-clock.ts'
import { makeDataFolder, type Folder } from '../switched-stores.ts'
import { until } from '../../../harness/until.ts'

type Answer = ErrorCode | 'later' | undefined
type Opened = Awaited<ReturnType<typeof open>>

const put = (viewer: string, now: number, ...oids: string[]): JournalEntry => ({
  viewer,
  now,
  change: { kind: 'put', writes: oids.map((oid) => write(viewer, oid, report(now))) } as JournalEntry['change'],
})
const clear = (viewer: string, now: number): JournalEntry => ({ viewer, now, change: { kind: 'clear' } })

async function open(path: string, options: JournalingOptions = {}, clock: Clock = systemClock) {
  const journals: Journals = openLmdbJournals(path)
  const asked: string[] = []
  const errors: unknown[] = []
  let answer: (entry: JournalEntry) => Answer = () => undefined
  let isDown = false
  const check = async (): Promise<void> => {
    await Promise.resolve()
    if (isDown) throw new TidemarkError('HOT_STORE_UNAVAILABLE', 'down')
  }
  const breakers = {
    hotStore: makePartBreaker(clock, { check }, { checkEveryMs: 5 }, () => undefined),
    recordStore: makeBreaker(clock, 'recordStore', check, { checkEveryMs: 5 }, () => undefined),
  }
  const apply = (entry: JournalEntry): Promise<'applied' | 'later'> =>
    breakers.hotStore.run([entry.viewer], async () => {
      await Promise.resolve()
      const given = answer(entry)
      asked.push(`${entry.viewer}@${entry.now}${given === undefined ? '' : ` ${given}`}`)
      if (given === undefined || given === 'later') return given ?? 'applied'
      throw new TidemarkError(given, 'refused')
    })
  const journaling: Journaling = makeJournaling(
    clock,
    breakers,
    journals,
    () => ({ refusals: new Set<ErrorCode>(['ID_INVALID']), apply }),
    options,
    (error) => errors.push(error),
  )
  return {
    journaling,
    journals,
    asked,
    errors,
    breakers,
    answers(wanted: typeof answer): void {
      answer = wanted
    },
    async down(): Promise<void> {
      isDown = true
      await breakers.hotStore.run(['7'], check).catch(() => undefined)
    },
    up(): void {
      isDown = false
    },
    count: () => journals.own.count(),
    async close(): Promise<void> {
      await journaling.stop()
      for (const breaker of Object.values(breakers)) breaker.stop()
      await journals.close()
    },
  }
}

describe('journaling', () => {
  let folder: Folder
  let opened: Opened[]
  beforeEach(() => {
    folder = makeDataFolder()
    opened = []
  })
  afterEach(async () => {
    for (const each of opened) await each.close()
    folder.remove()
  })

  async function begin(options: JournalingOptions = {}, clock?: Clock): Promise<Opened> {
    const each = await open(folder.path, { retryMinMs: 5, ...options }, clock)
    opened.push(each)
    return each
  }
  const empty = ({ count }: Opened) => until('the journal is empty', async () => (await count()).waiting === 0)

  it('an append in progress blocks the next write of its viewer, and of no other viewer', async () => {
    const { journaling, answers } = await begin()
    answers(() => 'INTERNAL')
    const appending = journaling.append([put('7', 1, 'a')])
    expect(journaling.mustJournal('7')).toBe(true)
    expect(journaling.mustJournal('8')).toBe(false)
    expect(['7', '8'].map(journaling.mayLack)).toEqual([true, false])
    await appending
    expect(journaling.mustJournal('7')).toBe(true)
    answers(() => undefined)
  })

  it('a refused entry blocks its viewer in all pages of the journal, and no other viewer', async () => {
    const served = await begin({ entriesMax: 2, retryMinMs: 200 })
    await served.down()
    for (const now of [1, 2, 3, 4, 5]) await served.journaling.append([put('7', now, 'a')])
    await served.journaling.append([put('8', 6, 'b')])
    let isFit = false
    served.answers(({ now }) => (now === 2 && !isFit ? 'INTERNAL' : undefined))
    served.up()
    await until('the other is through', () => !served.journaling.mustJournal('8'))
    expect(served.asked).toEqual(['7@1', '7@2 INTERNAL', '8@6'])
    expect(served.journaling.mustJournal('7')).toBe(true)
    isFit = true
    await empty(served)
    expect(served.asked.slice(3)).toEqual(['7@2', '7@3', '7@4', '7@5'])
    expect(served.errors).toHaveLength(1)
  })

  it('a refused entry is retried after a growing delay, and further writes do not shorten it', async () => {
    const clock = makeSteppedClock()
    const served = await begin({ retryMinMs: 100, retryMaxMs: 400, lookEveryMs: 1_000_000 }, clock)
    const triesAt: number[] = []
    served.answers(() => {
      triesAt.push(clock.now())
      return 'STORE_FULL'
    })
    const began = clock.now()
    await served.journaling.append([put('7', 1, 'a')])
    for (let step = 0; step < 150; step++) {
      await sleep(1)
      if (step % 10 === 0) await served.journaling.append([put('7', 2 + step, 'b')])
      clock.advance(10)
    }
    const gaps = triesAt.slice(1).map((at, index) => at - (triesAt[index] as number))
    expect(triesAt[0]).toBe(began)
    expect(gaps.slice(0, 4)).toEqual([100, 200, 400, 400])
    expect((await served.count()).parked).toBe(0)
    served.answers(() => undefined)
  })

  it.each(['later', 'RECORD_STORE_UNAVAILABLE'] as const)(
    'an entry that needs the record store (%s) stays, and is applied once the store is back',
    async (late) => {
      const served = await begin()
      served.answers(({ change: { kind } }) => (kind === 'clear' ? late : undefined))
      await served.journaling.append([clear('7', 1)])
      await served.journaling.append([put('7', 2, 'a')])
      await until('the second is through', () => served.asked.includes('7@2'))
      await until('one is left', async () => (await served.count()).waiting === 1 && !served.journaling.mustJournal('7'))
      served.answers(() => undefined)
      await served.breakers.recordStore
        .run(() => Promise.reject(new TidemarkError('RECORD_STORE_UNAVAILABLE', 'down')))
        .catch(() => undefined)
      await empty(served)
      expect(served.asked.at(-1)).toBe('7@1')
    },
  )

  it('an entry that stays is not counted off again for a later waiting entry of its viewer', async () => {
    const served = await begin()
    await served.down()
    await served.journaling.append([clear('7', 1)])
    await served.journaling.append([put('7', 2, 'a')])
    served.answers(({ change: { kind } }) => (kind === 'clear' ? 'later' : 'INTERNAL'))
    served.up()
    await until('both were tried twice', () => served.asked.filter((each) => each === '7@2 INTERNAL').length > 1)
    expect(served.journaling.mustJournal('7')).toBe(true)
  })

  it('an entry of an earlier process is not counted off for a waiting write of this process', async () => {
    const before = await open(folder.path)
    await before.journals.own.append([put('7', 1, 'a')])
    await before.journals.close()
    const served = await begin({ retryMinMs: 10_000 })
    await served.down()
    await served.journaling.append([put('7', 2, 'b')])
    served.answers(({ now }) => (now === 2 ? 'INTERNAL' : undefined))
    served.up()
    await until('the left one is gone', async () => (await served.count()).waiting === 1)
    expect(served.asked).toEqual(['7@1', '7@2 INTERNAL'])
    expect(served.journaling.mustJournal('7')).toBe(true)
  })

  it('a viewer with an entry that waits for the record store may lack it, although the next writes go directly', async () => {
    const served = await begin()
    served.answers(({ change: { kind } }) => (kind === 'clear' ? 'later' : undefined))
    await served.journaling.append([clear('7', 1)])
    await served.journaling.append([put('7', 2, 'a')])
    await until('the next writes go directly', () => !served.journaling.mustJournal('7'))
    expect(['7', '8'].map(served.journaling.mayLack)).toEqual([true, false])
    served.answers(() => undefined)
    await served.breakers.recordStore
      .run(() => Promise.reject(new TidemarkError('RECORD_STORE_UNAVAILABLE', 'down')))
      .catch(() => undefined)
    await until('nothing is lacking', () => !served.journaling.mayLack('7'))
    expect((await served.count()).waiting).toBe(0)
  })

  it('every viewer may lack a leftover entry until the leftovers are read, then only their viewers until they are applied', async () => {
    const before = await open(folder.path)
    await before.journals.own.append([put('7', 1, 'a'), put('8', 2, 'b')])
    await before.journals.close()
    const served = await begin()
    served.answers(({ now }) => (now === 1 ? 'INTERNAL' : undefined))
    expect(['7', '8', '9'].map(served.journaling.mayLack)).toEqual([true, true, true])
    served.journaling.start()
    await until('it is looked through', () => !served.journaling.mayLack('9'))
    expect(['7', '8'].map(served.journaling.mayLack)).toEqual([true, false])
    served.answers(() => undefined)
    await until('it is applied', () => !served.journaling.mayLack('7'))
    expect((await served.count()).waiting).toBe(0)
  })

  it('an entry refused because of its content is quarantined at once, and its viewer continues', async () => {
    const served = await begin()
    await served.down()
    for (const now of [1, 2, 3]) await served.journaling.append([put('7', now, 'a')])
    served.answers(({ now }) => (now === 2 ? 'ID_INVALID' : undefined))
    served.up()
    await until('all three are done with', () => served.journaling.figures().parked === 1)
    expect(served.asked).toEqual(['7@1', '7@2 ID_INVALID', '7@3'])
    expect(await served.journals.own.listParked()).toMatchObject([{ entry: { now: 2 }, reason: expect.stringContaining('ID_INVALID') }])
    expect(served.journaling.figures()).toMatchObject({ journaled: 3, replayed: 2, parked: 1 })
  })

  it('in a batch of several viewers only the refused entry is retried', async () => {
    const served = await begin()
    await served.down()
    await served.journaling.append([put('7', 1, 'a'), put('8', 1, 'b')])
    await served.journaling.append([clear('8', 2)])
    let tries = 0
    served.answers((entry) => (entry.viewer === '7' && ++tries < 3 ? 'INTERNAL' : undefined))
    served.up()
    await empty(served)
    expect(served.asked.filter((each) => each.startsWith('8'))).toEqual(['8@1', '8@2'])
  })

  it('a dead process whose journal cannot be applied blocks no other journal', async () => {
    const [first, second] = [openLmdbJournals(folder.path), openLmdbJournals(folder.path)]
    await first.own.append([put('7', 1, 'a')])
    await second.own.append([put('7', 2, 'b')])
    const served = await begin({ lookEveryMs: 20 })
    served.answers(({ now }) => (now === 1 ? 'INTERNAL' : undefined))
    await first.close()
    await second.close()
    served.journaling.start()
    await until('the second is applied', () => served.asked.includes('7@2'))
    await served.journaling.append([put('7', 3, 'c')])
    await until('its own entry is through too', () => !served.journaling.mustJournal('7'))
    expect(served.asked).toContain('7@3')
  })

  it('stopping retries blocked entries once, and leaves no timer', async () => {
    const served = await begin({ retryMinMs: 10_000 })
    let isFit = false
    served.answers(() => (isFit ? undefined : 'INTERNAL'))
    await served.journaling.append([put('7', 1, 'a')])
    await until('it was tried', () => served.asked.length === 1)
    isFit = true
    await served.journaling.stop()
    expect((await served.count()).waiting).toBe(0)
  })

  it('a hot store that comes back after the stop gets no entries', async () => {
    const served = await begin()
    await served.down()
    await served.journaling.append([put('7', 1, 'a')])
    await served.journaling.stop()
    served.up()
    await until('the breaker closes', () => !served.breakers.hotStore.isOpen())
    await sleep(20)
    expect(served.asked).toEqual([])
    expect((await served.count()).waiting).toBe(1)
  })

  it('a base counts from the moment it is journaled, regardless of the age of its report', async () => {
    const served = await begin()
    const began = Date.now()
    await served.journaling.append([{ viewer: '7', now: 1, isBackground: true, change: { kind: 'base' } }])
    const [only] = await served.journals.own.list(0, 10)
    expect(only !== undefined && 'entry' in only ? only.entry.now : 0).toBeGreaterThanOrEqual(began)
    expect(served.journaling.mustJournal('7')).toBe(false)
  })
})
