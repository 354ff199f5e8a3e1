import { expect, test } from 'vitest'
import { makeFold } from '../../../../subgraphs/feed-existence/fold/fold.ts'
import { decodeMark, listingOf, MARK_MONTH } from '../../../../subgraphs/feed-existence/migration/progress.ts'
import { makeMigration } from '../../../../subgraphs/feed-existence/migration/migrate.ts'
import { addToFilter, openFilter } from '../../../../subgraphs/feed-existence/filter/filter.ts'
import { hashSeen } from '../../../../subgraphs/feed-existence/filter/hash.ts'
import { beginningOf, monthOf } from '../../../../subgraphs/feed-existence/model/time-ring.ts'
import type { LegacyPlays } from '../../../../subgraphs/feed-existence/stores/legacy-plays.ts'
import { FILTER_BYTES_MAX } from '../../../../subgraphs/feed-existence/stores/record-store.ts'
import { makeSeenRecordsState, openModelSeenRecords } from '../../../../harness/models/feed-existence/record-store-model.ts'
import { makeSeenStoreModel } from '../../../../harness/models/feed-existence/hot-store-model.ts'
import { makeSteppedClock } from '../../../../harness/stepped-clock.ts'
import { until } from '../../../../harness/until.ts'

const MONTH = 680
const AT = beginningOf(MONTH) + 1_000
const SLOT = 2
const RATE = 0.0005
const PAGE = 100_000
/** At this rate a filter of 3 MiB has two million records. */
const MEMBERS = new Map([
  ['6', 3],
  ['heavy', 2_200_000],
  ['8', 5],
])

/** Sets whose members are consecutive numbers from 0 on. */
const legacy: Pick<LegacyPlays, 'listPlays' | 'keyOf'> = {
  keyOf: (viewer) => `played:video:${viewer}`,
  async listPlays(viewer, _business, page) {
    const count = MEMBERS.get(viewer) ?? 0
    const from = Number(page ?? 0)
    const end = Math.min(count, from + PAGE)
    const plays = Array.from({ length: end - from }, (_, at) => ({ oid: String(from + at), playedAt: AT }))
    return { plays, invalid: [], next: end < count ? String(end) : undefined }
  },
}

test('a legacy set too large for a filter fails alone and writes nothing, and others are migrated', { timeout: 300_000 }, async () => {
  const hot = makeSeenStoreModel(2, { slots: 6, shards: 4 })
  const records = openModelSeenRecords(makeSeenRecordsState())
  const rules = { rate: RATE, isOver: (month: number) => month < MONTH, expiryOf: (month: number) => month }
  const { repair } = makeFold({ hot, records }, rules)
  const written: number[] = []
  const watched = {
    ...records,
    putFilters: (writes: Parameters<typeof records.putFilters>[0]) => {
      written.push(...writes.map(({ filter }) => filter.length))
      return records.putFilters(writes)
    },
  }
  const limits = { isLive: () => true, membersPerSecond: 1e12 }
  const migration = makeMigration(makeSteppedClock(AT), legacy, watched, repair, { ...rules, ...limits })
  const { migrate } = migration.makeMover()
  const viewers = [...MEMBERS.keys()]
  await hot.stagePlays(
    viewers.map((viewer) => listingOf(viewer, 1, AT)),
    { now: AT, slot: SLOT },
  )

  const { failed } = await makeFold({ hot, records }, { ...rules, migrate }).fold(SLOT, viewers)

  expect(failed).toMatchObject([{ viewer: 'heavy', error: { code: 'LEGACY_INVALID' } }])
  expect(String(failed[0]?.error)).toMatch(/viewer "heavy" in business 1 .* would take \d+ bytes, and the limit is 3145728/)
  expect(Math.max(...written)).toBeLessThan(FILTER_BYTES_MAX)
  expect(migration.figures()).toMatchObject({ migrated: 2, plays: 8 })
  const marks = await records.getFilters(viewers.map((viewer) => ({ viewer, month: MARK_MONTH })))
  expect(marks.map((mark) => decodeMark(mark?.filter).has(1))).toEqual([true, false, true])
  const filters = await records.getFilters(viewers.map((viewer) => ({ viewer, month: monthOf(AT) })))
  expect(filters.map((stored) => stored !== undefined)).toEqual([true, false, true])
  const [hash1 = 0, hash2 = 0] = hashSeen(1, ['2'])
  expect(openFilter(filters[0]?.filter as Buffer).has(hash1, hash2)).toBe(true)
  // The viewer is still listed.
  expect((await hot.readStaged(SLOT, viewers)).map((plays) => plays.length)).toEqual([0, 1, 0])
})

function open(listPlays: LegacyPlays['listPlays'], isOver: (month: number) => boolean = () => false, membersPerSecond = 1e12) {
  const records = openModelSeenRecords(makeSeenRecordsState())
  const rules = { rate: RATE, isOver, expiryOf: (month: number) => month }
  const sets = { keyOf: legacy.keyOf, listPlays }
  const noRepair = () => Promise.resolve(false)
  const clock = makeSteppedClock(AT)
  const mover = makeMigration(clock, sets, records, noRepair, { ...rules, isLive: () => true, membersPerSecond }).makeMover()
  return { clock, records, ...mover }
}

test.each([
  ['while a page is on its way', 1e12],
  ['while it waits until the next page may be read', 1],
])('a migration that is stopped %s reads no further page, and folds and marks nothing', async (_, membersPerSecond) => {
  let pages = 0
  const reading = Promise.withResolvers<void>()
  const answer = Promise.withResolvers<void>()
  const { clock, records, migrate, stop } = open(
    async () => {
      pages++
      reading.resolve()
      await answer.promise
      return { plays: [{ oid: String(pages), playedAt: AT }], invalid: [], next: pages < 5 ? String(pages) : undefined }
    },
    undefined,
    membersPerSecond,
  )
  const moved = migrate('7', [1])
  await reading.promise
  if (membersPerSecond === 1) {
    answer.resolve()
    await until('it waits', () => clock.pending() === 1)
  }
  stop()
  answer.resolve()
  expect(await moved).toBe(false)
  expect(pages).toBe(1)
  expect(await records.listFilters(['7'])).toEqual([[]])
  expect(clock.pending()).toBe(0)
})

test('a legacy set with too many members for memory is given up while it is read, and nothing is written', async () => {
  const plays = Array.from({ length: 1_000_001 }, () => ({ oid: '1', playedAt: AT }))
  let pages = 0
  // The set is endless.
  const { records, migrate } = open(() => Promise.resolve({ plays, invalid: [], next: String(++pages) }))
  await expect(migrate('7', [1])).rejects.toThrow(/more than 4000000/)
  expect(pages).toBe(4)
  expect(await records.listFilters(['7'])).toEqual([[]])
})

test('the filter of a past month is as small as its records allow, even if it already had most of them', async () => {
  const ids = Array.from({ length: 20_000 }, (_, id) => String(id))
  const plays = ids.map((oid) => ({ oid, playedAt: AT }))
  const { records, migrate } = open(
    () => Promise.resolve({ plays, invalid: [], next: undefined }),
    () => true,
  )
  const before = addToFilter(undefined, hashSeen(1, ids.slice(1)), { rate: RATE })
  await records.putFilters([{ viewer: '7', month: MONTH, filter: before, expected: 0, expiresAt: MONTH }])
  expect(await migrate('7', [1])).toBe(true)
  const [stored] = await records.getFilters([{ viewer: '7', month: MONTH }])
  expect(stored?.filter).toEqual(addToFilter(undefined, hashSeen(1, ids), { rate: RATE, recordsMax: 0 }))
})
