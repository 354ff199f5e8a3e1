/**
 * The contract of the count cache port, run unchanged by every adapter:
 *
 *     countCacheContract('lmdb', async () => ({ cache, another, dispose }))
 *
 * `open` runs once per suite. The cache may hold data of earlier runs. The suite uses its own subjects, and forgets businesses 60001 and
 * above. It does not test that entries may vanish at any time: a cache without pressure keeps them.
 */
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Subject, SubjectCounts, CountedSubject } from '../../../core/domain.ts'
import { compareIds } from '../../../core/keys.ts'
import type { CountCache } from '../../../subgraphs/thumbup/stores/count-cache.ts'
import { freshViewer } from '../reports.ts'
import { until } from '../../../harness/until.ts'
import { followCounts } from '../../support/follow-counts.ts'

export type OpenedCountCache = {
  cache: CountCache
  /** Opens the same data again, as another process does. The suite closes it. */
  another(): Promise<CountCache>
  /** Closes all open handles and removes the data of the suite. */
  dispose(): Promise<void>
}

const LARGEST = Number.MAX_SAFE_INTEGER
const ODD_IDS = [
  '0',
  '007',
  '-1',
  ' ',
  'a:b',
  '{x}',
  '\u0000',
  'é',
  'e\u0301',
  '*',
  '9223372036854775807',
  '9223372036854775808',
  'x'.repeat(64),
]

function freshSubject(business = 1): Subject {
  return { business, oid: freshViewer() }
}

function counts(likes: number, dislikes: number, version: number): SubjectCounts {
  return { likes, dislikes, version }
}

export function countCacheContract(name: string, open: () => Promise<OpenedCountCache>): void {
  describe(`count cache contract: ${name}`, () => {
    let opened: OpenedCountCache | undefined
    const current = (): OpenedCountCache => {
      if (opened === undefined) throw new Error('the count cache could not be opened')
      return opened
    }
    beforeAll(async () => {
      opened = await open()
    })
    afterAll(async () => opened?.dispose())
    const cache = (): CountCache => current().cache
    const another = (): Promise<CountCache> => current().another()

    describe('counts', () => countsContract(cache, another))
    describe('followers', () => followersContract(cache, another))
    describe('likers and owners', () => likersContract(cache, another))
    describe('forgetting', () => forgettingContract(cache))
  })
}

function countsContract(cache: () => CountCache, another: () => Promise<CountCache>): void {
  const countsOf = async (subject: Subject) => (await cache().getCountsMany([subject]))[0]

  it('counts are read back in order, exact to 2^53, and a miss is undefined', async () => {
    const [small, large, missing] = [freshSubject(), freshSubject(), freshSubject()]
    await cache().putCounts([
      { ...small, counts: counts(1, 0, 7) },
      { ...large, counts: counts(LARGEST, LARGEST - 1, LARGEST) },
    ])
    const answers = [undefined, counts(LARGEST, LARGEST - 1, LARGEST), counts(1, 0, 7), counts(LARGEST, LARGEST - 1, LARGEST)]
    expect(await cache().getCountsMany([missing, large, small, large])).toEqual(answers)
    const other = await another()
    try {
      expect(await other.getCountsMany([missing, large, small, large])).toEqual(answers)
    } finally {
      await other.close()
    }
    expect(await cache().getCountsMany([])).toEqual([])
    await cache().putCounts([])
  })

  it('zero counts are cached, even of uncounted subjects, and give way to the first real ones', async () => {
    const [undone, never] = [freshSubject(), freshSubject()]
    await cache().putCounts([
      { ...undone, counts: counts(0, 0, 5) },
      { ...never, counts: counts(0, 0, 0) },
    ])
    expect(await cache().getCountsMany([undone, never])).toEqual([counts(0, 0, 5), counts(0, 0, 0)])
    await cache().putCounts([{ ...never, counts: counts(1, 0, 1) }])
    await cache().putCounts([{ ...never, counts: counts(0, 0, 0) }])
    expect(await countsOf(never)).toEqual(counts(1, 0, 1))
  })

  it('zero of an uncounted subject hides no count of another process', async () => {
    const subject = freshSubject()
    const other = await another()
    try {
      await cache().putCounts([{ ...subject, counts: counts(0, 0, 0) }])
      await other.putCounts([{ ...subject, counts: counts(3, 1, 2) }])
      expect(await countsOf(subject)).toEqual(counts(3, 1, 2))
    } finally {
      await other.close()
    }
  })

  it('an older value never replaces a newer one, in one call or in many', async () => {
    const subject = freshSubject()
    const put = (version: number) => cache().putCounts([{ ...subject, counts: counts(version, 1, version) }])
    await put(5)
    await put(4)
    expect(await countsOf(subject)).toEqual(counts(5, 1, 5))
    await cache().putCounts([9, 7, 8].map((version) => ({ ...subject, counts: counts(version, 1, version) })))
    expect(await countsOf(subject)).toEqual(counts(9, 1, 9))
    await put(10)
    await put(9)
    expect(await countsOf(subject)).toEqual(counts(10, 1, 10))
  })

  it('versions are compared as numbers of any length', async () => {
    const subject = freshSubject()
    for (const version of [9, 10, 99, 1_000, 2 ** 31, 2 ** 32 + 1, 2 ** 52, LARGEST - 1, LARGEST]) {
      await cache().putCounts([{ ...subject, counts: counts(version, 0, version) }])
      expect(await countsOf(subject)).toEqual(counts(version, 0, version))
    }
    await cache().putCounts([{ ...subject, counts: counts(0, 0, LARGEST - 1) }])
    expect(await countsOf(subject)).toEqual(counts(LARGEST, 0, LARGEST))
  })

  it('equal ids of two businesses, and unusual ids, are different subjects', async () => {
    const stem = freshViewer()
    const subjects = [1, 2, 65_535].flatMap((business) =>
      ODD_IDS.map((id) => ({ business, oid: id.length === 64 ? `${stem}${id}`.slice(0, 64) : `${stem}${id}` })),
    )
    const put = subjects.map((subject, index) => ({ ...subject, counts: counts(index, index + 1, 1 + index) }))
    await cache().putCounts(put)
    expect(await cache().getCountsMany(subjects)).toEqual(put.map((counted) => counted.counts))
  })

  it('any order of arrival, from two processes at once, ends with the newest', async () => {
    const other = await another()
    try {
      await fc.assert(
        fc.asyncProperty(
          fc.array(fc.record({ version: fc.integer({ min: 1, max: 6 }), here: fc.boolean() }), { minLength: 1 }),
          async (puts) => {
            const subject = freshSubject()
            await Promise.all(
              puts.map(({ version, here }) =>
                (here ? cache() : other).putCounts([{ ...subject, counts: counts(version * 2, version, version) }]),
              ),
            )
            const newest = Math.max(...puts.map(({ version }) => version))
            expect(await countsOf(subject)).toEqual(counts(newest * 2, newest, newest))
            expect(await other.getCountsMany([subject])).toEqual([counts(newest * 2, newest, newest)])
          },
        ),
        { numRuns: 30 },
      )
    } finally {
      await other.close()
    }
  })

  it('an available cache passes its check', async () => {
    await cache().check()
  })
}

function followersContract(cache: () => CountCache, another: () => Promise<CountCache>): void {
  it('a follower gets each change of its subjects once, and no older values or other subjects', async () => {
    const [subject, second, other] = [freshSubject(), freshSubject(), freshSubject()]
    const told: CountedSubject[] = []
    const stop = await followCounts(cache(), [subject, second], (changed) => told.push(changed))
    const first = { ...subject, counts: counts(1, 0, 1) }
    const newer = { ...subject, counts: counts(2, 0, 3) }
    const last = { ...second, counts: counts(LARGEST, 0, LARGEST) }
    await cache().putCounts([first, { ...other, counts: counts(1, 0, 1) }])
    await cache().putCounts([newer])
    await cache().putCounts([{ ...subject, counts: counts(9, 9, 2) }])
    await cache().putCounts([newer])
    await cache().putCounts([last])
    await until('three changes', () => told.length >= 3)
    stop()
    expect(told.filter(({ oid }) => oid === subject.oid)).toEqual([first, newer])
    expect(told.filter(({ oid }) => oid === second.oid)).toEqual([last])
    expect(told).toHaveLength(3)
  })

  it('changes of another process arrive too, and are readable when followers receive them', async () => {
    const subject = { business: 2, oid: `${freshViewer()}:é {1}` }
    const other = await another()
    try {
      const told: [CountedSubject, Promise<(SubjectCounts | undefined)[]>][] = []
      const stop = await followCounts(cache(), [subject], (changed) => told.push([changed, cache().getCountsMany([subject])]))
      await other.putCounts([{ ...subject, counts: counts(4, 2, 9) }])
      await until('the change of the other process', () => told.length > 0)
      stop()
      expect(told[0]?.[0]).toEqual({ ...subject, counts: counts(4, 2, 9) })
      expect(await told[0]?.[1]).toEqual([counts(4, 2, 9)])
    } finally {
      await other.close()
    }
  })

  it('equal ids of two businesses are followed separately', async () => {
    const subject = freshSubject(1)
    const told: CountedSubject[] = []
    const stop = await followCounts(cache(), [subject], (changed) => told.push(changed))
    await cache().putCounts([{ ...subject, business: 2, counts: counts(5, 0, 5) }])
    await cache().putCounts([{ ...subject, counts: counts(1, 0, 1) }])
    await until('the change', () => told.length > 0)
    stop()
    expect(told).toEqual([{ ...subject, counts: counts(1, 0, 1) }])
  })

  it('each of several followers gets changes until it stops, and stopping twice is harmless', async () => {
    const subject = freshSubject()
    const [first, second]: [number[], number[]] = [[], []]
    const stopFirst = await followCounts(cache(), [subject], (changed) => first.push(changed.counts.version))
    const stopSecond = await followCounts(cache(), [subject, subject], (changed) => second.push(changed.counts.version))
    const put = (version: number) => cache().putCounts([{ ...subject, counts: counts(version, 0, version) }])
    await put(1)
    await until('both are told', () => first.length > 0 && second.length > 0)
    stopFirst()
    stopFirst()
    await put(2)
    await put(3)
    await until('the second is told of all', () => second.length >= 3)
    stopSecond()
    stopSecond()
    await put(4)
    const third: number[] = []
    const stopThird = await followCounts(cache(), [subject], (changed) => third.push(changed.counts.version))
    await put(5)
    await until('a later follower is notified', () => third.length > 0)
    stopThird()
    expect([first, second, third]).toEqual([[1], [1, 2, 3], [5]])
  })
}

function likersContract(cache: () => CountCache, another: () => Promise<CountCache>): void {
  const at = 1_700_000_000_000
  const likers = (version: number, ids: string[], whole = true) => ({
    version,
    entries: ids.map((id, index) => ({ id, markedAt: at - index })),
    whole,
  })

  it('likers are read back unchanged from any process, with equal times and unusual ids in list order', async () => {
    const subject = freshSubject()
    expect(await cache().getLikers(subject)).toBeUndefined()
    const ids = ['0', '2', '9', '10', '100', '9223372036854775807', '-1', '007', 'é', '9223372036854775808', 'x'.repeat(64)]
    const entries = [{ id: 'newest', markedAt: at + 1 }, ...ids.map((id) => ({ id, markedAt: at })), { id: '1', markedAt: at - 1 }]
    const sorted = {
      version: LARGEST,
      entries: entries.toSorted((a, b) => b.markedAt - a.markedAt || compareIds(a.id, b.id)),
      whole: false,
    }
    await cache().putLikers(subject, sorted)
    expect(await cache().getLikers(subject)).toEqual(sorted)
    const other = await another()
    try {
      expect(await other.getLikers(subject)).toEqual(sorted)
      expect(await other.getLikers({ ...subject, business: 2 })).toBeUndefined()
    } finally {
      await other.close()
    }
  })

  it('an older list never replaces a newer one, and a list of the same version replaces it completely', async () => {
    const subject = freshSubject()
    await cache().putLikers(subject, likers(10, ['1', '2', '3']))
    await cache().putLikers(subject, likers(9, ['4']))
    expect(await cache().getLikers(subject)).toEqual(likers(10, ['1', '2', '3']))
    await cache().putLikers(subject, likers(10, ['2', '5'], false))
    expect(await cache().getLikers(subject)).toEqual(likers(10, ['2', '5'], false))
    await cache().putLikers(subject, likers(11, ['6']))
    expect(await cache().getLikers(subject)).toEqual(likers(11, ['6']))
  })

  it('an empty list is cached, with its version or before anything was counted', async () => {
    const [undone, never] = [freshSubject(), freshSubject()]
    await cache().putLikers(undone, likers(3, ['1']))
    await cache().putLikers(undone, likers(4, []))
    await cache().putLikers(never, likers(0, []))
    expect(await cache().getLikers(undone)).toEqual(likers(4, []))
    expect(await cache().getLikers(never)).toEqual(likers(0, []))
    await cache().putLikers(never, likers(1, ['1']))
    expect(await cache().getLikers(never)).toEqual(likers(1, ['1']))
  })

  it('a list of a thousand likers is cached', async () => {
    const subject = freshSubject()
    const many = likers(
      5,
      Array.from({ length: 1_000 }, (_, index) => `viewer-${index}`),
      false,
    )
    await cache().putLikers(subject, many)
    expect(await cache().getLikers(subject)).toEqual(many)
  })

  it('owner sums are read back in order, per business, and only newer ones replace them', async () => {
    const [owner, named, missing] = [freshViewer(), `owner ü:${freshViewer()}`, freshViewer()]
    await cache().putOwnerSums([
      { business: 1, owner, likes: 5, version: 10 },
      { business: 2, owner, likes: 6, version: 2 },
      { business: 1, owner: named, likes: LARGEST, version: LARGEST },
      { business: 3, owner, likes: 0, version: 0 },
    ])
    await cache().putOwnerSums([
      { business: 1, owner, likes: 4, version: 9 },
      { business: 2, owner, likes: 7, version: 3 },
    ])
    await cache().putOwnerSums([])
    const asked = [
      { business: 1, owner: missing },
      { business: 2, owner },
      { business: 1, owner: named },
      { business: 1, owner },
      { business: 3, owner },
    ]
    expect(await cache().getOwnerSums(asked)).toEqual([
      undefined,
      { likes: 7, version: 3 },
      { likes: LARGEST, version: LARGEST },
      { likes: 5, version: 10 },
      { likes: 0, version: 0 },
    ])
    expect(await cache().getOwnerSums([])).toEqual([])
  })

  it('a subject, its likers and an owner with the same id are separate', async () => {
    const subject = freshSubject()
    const owner = { business: subject.business, owner: subject.oid }
    await cache().putCounts([{ ...subject, counts: counts(1, 2, 30) }])
    await cache().putLikers(subject, likers(20, ['1']))
    await cache().putOwnerSums([{ ...owner, likes: 3, version: 10 }])
    expect(await cache().getCountsMany([subject])).toEqual([counts(1, 2, 30)])
    expect(await cache().getLikers(subject)).toEqual(likers(20, ['1']))
    expect(await cache().getOwnerSums([owner])).toEqual([{ likes: 3, version: 10 }])
  })
}

function forgettingContract(cache: () => CountCache): void {
  it('a business is forgotten completely, in bounded steps, and no other', async () => {
    const [gone, kept] = [60_001, 60_002]
    const ids = Array.from({ length: 30 }, freshViewer)
    for (const business of [gone, kept]) {
      await cache().putCounts(ids.map((oid, index) => ({ business, oid, counts: counts(1, 0, index) })))
      for (const oid of ids.slice(0, 3)) {
        await cache().putLikers({ business, oid }, { version: 1, entries: [{ id: '1', markedAt: 1_700_000_000_000 }], whole: true })
      }
      await cache().putLikers({ business, oid: ids[3] ?? '' }, { version: 0, entries: [], whole: true })
      await cache().putOwnerSums(ids.slice(0, 3).map((owner, version) => ({ business, owner, likes: 1, version })))
    }
    expect(await cache().countKept(gone)).toBeGreaterThanOrEqual(30)
    let steps = 0
    while ((await cache().forgetCounts(gone, 10)) > 0) steps += 1
    expect(await cache().countKept(gone)).toBe(0)
    expect(await cache().countKept(kept)).toBeGreaterThanOrEqual(30)
    expect(steps).toBeGreaterThanOrEqual(2)
    const subjectsOf = (business: number) => ids.map((oid) => ({ business, oid }))
    const ownersOf = (business: number) => ids.slice(0, 3).map((owner) => ({ business, owner }))
    expect(await cache().getCountsMany(subjectsOf(gone))).toEqual(ids.map(() => undefined))
    expect(
      await Promise.all(
        subjectsOf(gone)
          .slice(0, 4)
          .map((subject) => cache().getLikers(subject)),
      ),
    ).toEqual(Array(4).fill(undefined))
    expect(await cache().getOwnerSums(ownersOf(gone))).toEqual(Array(3).fill(undefined))
    expect(await cache().getCountsMany(subjectsOf(kept))).toEqual(ids.map((_, index) => counts(1, 0, index)))
    expect(await cache().getLikers({ business: kept, oid: ids[3] ?? '' })).toEqual({ version: 0, entries: [], whole: true })
    expect(await cache().getOwnerSums(ownersOf(kept))).toEqual([0, 1, 2].map((version) => ({ likes: 1, version })))
    await cache().putCounts([{ business: gone, oid: ids[0] ?? '', counts: counts(1, 0, 1) }])
    expect(await cache().getCountsMany([{ business: gone, oid: ids[0] ?? '' }])).toEqual([counts(1, 0, 1)])
    while ((await cache().forgetCounts(gone, 1_000)) + (await cache().forgetCounts(kept, 1_000)) > 0);
  })
}
