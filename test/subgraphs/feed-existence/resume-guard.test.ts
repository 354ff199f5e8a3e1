/** Resume points older than the hot timeline are found, and lookups without one cost the record store nothing. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { BOTH_SHAPES, CAP, helpConfig, numbered, startTogether, type Together } from './with-history.ts'

const WATCHED = 3 * CAP

for (const { name, open } of BOTH_SHAPES) {
  describe(`resume points behind the hot timeline, ${name}`, () => {
    let together: Together
    beforeEach(async () => {
      together = await startTogether(open)
    })
    afterEach(() => together.stop())

    /** Reports subjects until the older ones have left the hot timeline: 1 is the oldest, at position 60001. */
    async function watchMany(viewer: string): Promise<void> {
      const start = Date.now() - 10_000
      const reports = numbered(WATCHED).map((oid) => ({ oid, position: 60_000 + Number(oid), viewedAt: start + Number(oid) }))
      await together.report(viewer, reports)
      await together.persisted()
      together.calls.length = 0
    }

    test('a trimmed one is found while its play is staged and after it is folded, with one read for all', async () => {
      await watchMany('7')
      const asked = ['1', '29', 'x1', '5', 'x2']
      const expected = [60_001, 60_029, null, 60_005, null]
      expect(await together.lookUp('7', asked)).toEqual({ positions: expected, degraded: [] })
      expect(together.count('records.getProgressMany')).toBe(1)
      expect(together.asked('records.getProgressMany')).toBe(2)
      await together.foldAll('7')
      together.calls.length = 0
      expect(await together.lookUp('7', asked)).toEqual({ positions: expected, degraded: [] })
      expect(together.count('records.getProgressMany')).toBe(1)
      expect(together.asked('records.getProgressMany')).toBe(2)
    })

    test('one that is trimmed as soon as it is persisted is found at any moment', async () => {
      await watchMany('7')
      const old = Date.now() - 3_600_000
      await together.report('7', [{ oid: 'late', position: 99_000, viewedAt: old }])
      for (let again = 0; again < 50; again++) expect((await together.lookUp('7', ['late'])).positions).toEqual([99_000])
      await together.persisted()
      expect((await together.stores.hot.getProgressMany([{ viewer: '7', business: 1, oid: 'late' }]))[0]?.record).toBeUndefined()
      expect((await together.lookUp('7', ['late'])).positions).toEqual([99_000])
    })

    test('many misses of untruncated viewers read no record store', async () => {
      for (const viewer of ['1', '2', '3', '4', '5']) await together.report(viewer, [{ oid: '1' }])
      await together.persisted()
      together.calls.length = 0
      for (const viewer of ['1', '2', '3', '4', '5', '6', '7', '8', '9', 'nobody']) {
        const { positions } = await together.lookUp(viewer, numbered(1_000, 1_000))
        expect(positions.every((position) => position === null)).toBe(true)
      }
      // A second write of the job, because the first took long, is not a read.
      const asked = together.calls.filter(({ name }) => /^(records|seenRecords)\./.test(name) && name !== 'records.putProgress')
      expect(asked).toEqual([])
      expect(together.existence.figures().resumes).toEqual({ missed: 0, probable: 0 })
    })

    test('many misses of a truncated viewer read at most the false positives of the filters', async () => {
      await watchMany('7')
      await together.foldAll('7')
      for (let round = 0; round < 10; round++) {
        const { positions } = await together.lookUp('7', numbered(1_000, 10_000 + round * 1_000))
        expect(positions.every((position) => position === null)).toBe(true)
      }
      expect(together.asked('records.getProgressMany')).toBeLessThanOrEqual(100)
      // In memory after the first read.
      expect(together.count('seenRecords.getFilters')).toBe(1)
      expect(together.existence.figures().resumes.missed).toBe(10_000)
    })

    test('a deleted or cleared one stays away although the filters have it', async () => {
      await watchMany('7')
      await together.history.service.deleteHistory({ id: '7', scopes: [] }, 'video', ['2'], new Set())
      expect((await together.lookUp('7', ['2', '3'])).positions).toEqual([null, 60_003])
      await together.history.service.clearHistory({ id: '7', scopes: [] }, 'video', new Set())
      await together.persisted()
      expect((await together.lookUp('7', ['3', '30'])).positions).toEqual([null, null])
    })

    test('without the filters a miss stays a miss, and the answer is degraded', async () => {
      await watchMany('7')
      await together.foldAll('7')
      together.refuse('seenRecords', 'RECORD_STORE_UNAVAILABLE')
      expect(await together.lookUp('7', ['1', '30'])).toEqual({ positions: [null, 60_030], degraded: ['recordStore'] })
      together.refuse('seenRecords', 'DATA_INCOMPATIBLE')
      expect(await together.lookUp('7', ['1', '30'])).toMatchObject({ positions: [null, 60_030], degraded: ['recordStore'] })
      // A failed store that the lookup did not need is not reported.
      expect(await together.lookUp('7', ['30'])).toEqual({ positions: [60_030], degraded: [] })
    })

    test('without the staged plays the filters answer alone, and the answer is degraded', async () => {
      await watchMany('7')
      await together.foldAll('7')
      together.refuse('seenHot.getSeenMany', 'HOT_STORE_UNAVAILABLE')
      expect(await together.lookUp('7', ['1', '30'])).toEqual({ positions: [60_001, 60_030], degraded: ['hotStore'] })
    })
  })
}

describe('resume points behind the hot timeline, by configuration', () => {
  const [embedded] = BOTH_SHAPES
  if (embedded === undefined) throw new Error('the embedded shape needs nothing')

  async function readsOf(existence: object): Promise<{ positions: (number | null)[]; read: number }> {
    const together = await startTogether(embedded!.open, helpConfig({ existence }))
    try {
      const start = Date.now() - 10_000
      await together.report(
        '7',
        numbered(WATCHED).map((oid) => ({ oid, viewedAt: start + Number(oid) })),
      )
      await together.persisted()
      together.calls.length = 0
      const { positions } = await together.lookUp('7', ['1', 'x1', 'x2'])
      return { positions, read: together.asked('records.getProgressMany') }
    } finally {
      await together.stop()
    }
  }

  test('every miss of a truncated viewer is read if the filters are not asked', async () => {
    const expected = { positions: [60_000, null, null], read: 3 }
    expect(await readsOf({ guardsResume: false })).toEqual(expected)
    // The same default applies if the filters lack the plays of history.
    expect(await readsOf({ fromHistory: false })).toEqual(expected)
    expect(await readsOf({})).toEqual({ positions: [60_000, null, null], read: 1 })
  })
})
