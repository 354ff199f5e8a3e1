/** What players report to history is played as far as feeds are concerned. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { makeConfig } from '../../../config/config.ts'
import type { ProgressRecord } from '../../../core/domain.ts'
import { beginningOf, monthOf } from '../../../subgraphs/feed-existence/model/time-ring.ts'
import { isPlayed } from '../../../subgraphs/feed-existence/write/from-history.ts'
import { BOTH_SHAPES, helpConfig, startTogether, type Together } from './with-history.ts'
import { until } from '../../../harness/until.ts'

const HOUR = 3_600_000

for (const { name, open } of BOTH_SHAPES) {
  describe(`plays from the players' reports, ${name}`, () => {
    let together: Together
    beforeEach(async () => {
      together = await startTogether(open)
    })
    afterEach(() => together.stop())

    const staged = async (viewer: string, business = 1) => {
      const { staged } = await together.stores.seenHot.getSeen(viewer, business)
      return new Map(staged.map(({ oid, playedAt }) => [oid, playedAt]))
    }

    test('what was reported is not unseen any more once it is flushed, and a glance still is', async () => {
      await together.report('7', [
        { oid: 'watched' },
        { oid: 'glance', position: 4_999 },
        { oid: 'ended', position: 10, finished: true },
        { oid: 'opened', position: 0 },
        { oid: 'page', position: 1, business: 'article' },
        { oid: 'cover', position: 0, business: 'article' },
      ])
      await until('the report has come through', async () => (await together.unseen('7', ['watched'])).length === 0)
      await together.persisted()
      expect(await together.unseen('7', ['glance', 'watched', 'opened', 'ended', 'other'])).toEqual(['glance', 'opened', 'other'])
      expect(await together.unseen('7', ['cover', 'page'], 'article')).toEqual(['cover'])
      expect(await together.unseen('8', ['watched'])).toEqual(['watched'])
    })

    test('reports in any order and again end in the newest visit, before and after a fold', async () => {
      const now = Date.now()
      await together.report('7', [{ oid: '1', viewedAt: now - 1_000 }])
      await together.persisted()
      await together.report('7', [{ oid: '2', viewedAt: now - 5_000 }])
      await together.persisted()
      await together.report('7', [{ oid: '1', position: 70_000, viewedAt: now }])
      await together.persisted()
      expect(await staged('7')).toEqual(
        new Map([
          ['1', now],
          ['2', now - 5_000],
        ]),
      )
      await together.foldAll('7')
      expect(await together.unseen('7', ['1', '2', '3'])).toEqual(['3'])
      await together.report('7', [{ oid: '1', position: 80_000 }])
      await together.persisted()
      await together.foldAll('7')
      expect(await together.unseen('7', ['1', '2', '3'])).toEqual(['3'])
    })

    test('nothing is persisted as clean that was not staged: with a hot store that is full and the log down, it comes later', async () => {
      together.refuse('seenHot.stagePlays', 'STORE_FULL')
      together.refuse('plays.appendPlays', 'LOG_UNAVAILABLE')
      await together.report('7', [{ oid: '1' }])
      await until('it was tried', () => together.count('plays.appendPlays') >= 2)
      expect(await together.stores.hot.countDirty()).toBe(1)
      expect(await staged('7')).toEqual(new Map())
      together.refuse('plays.appendPlays', undefined)
      together.refuse('seenHot.stagePlays', undefined)
      await together.persisted()
      expect([...(await staged('7')).keys()]).toEqual(['1'])
    })

    test('a hot store that is full leaves plays to the log, from which the job has them', async () => {
      together.refuse('seenHot.stagePlays', 'STORE_FULL')
      await together.report('7', [{ oid: '1' }])
      await together.persisted()
      expect(await staged('7')).toEqual(new Map())
      together.refuse('seenHot.stagePlays', undefined)
      const job = await together.existence.startJob()
      await until('the log has been staged', async () => (await staged('7')).has('1'))
      await job.stop()
      expect(together.existence.figures().fromHistory.logged).toBeGreaterThan(0)
    })

    test('a record store that is down keeps nothing in the feed', async () => {
      together.refuse('records.putProgress', 'RECORD_STORE_UNAVAILABLE')
      await together.report('7', [{ oid: '1' }])
      await until('it is staged', async () => (await staged('7')).has('1'))
      expect(await together.stores.hot.countDirty()).toBe(1)
      // Redeliveries change nothing.
      await until('it was tried again', () => together.count('records.putProgress') >= 3)
      expect((await together.stores.seenHot.getSeen('7', 1)).staged).toHaveLength(1)
      together.refuse('records.putProgress', undefined)
      await together.persisted()
    })

    test('with the log of history down what is flushed directly counts as well', async () => {
      await together.stopJob()
      together.refuse('log', 'LOG_UNAVAILABLE')
      await together.report('7', [{ oid: '1' }])
      await until('it is staged', async () => (await staged('7')).has('1'))
      together.refuse('log', undefined)
      await together.startJob()
    })

    test('a paused viewer, and one who deleted, plays nothing; who cleared has played all the same', async () => {
      await together.history.service.setPaused({ id: '9', scopes: [] }, true)
      const [answer] = await together.history.service.report({ id: '9', scopes: [] }, [{ business: 'video', oid: '1', position: 60_000 }])
      expect(answer?.outcome).toBe('PAUSED')
      await together.report('7', [{ oid: '1' }])
      await together.persisted()
      await together.history.service.clearHistory({ id: '7', scopes: [] }, 'video')
      await together.history.service.deleteHistory({ id: '8', scopes: [] }, 'video', ['1'])
      await together.persisted()
      expect([...(await staged('7')).keys()]).toEqual(['1'])
      expect(await staged('8')).toEqual(new Map())
      expect(await staged('9')).toEqual(new Map())
    })

    test('what is older than the months that are looked at is left out, and holds nothing up', async () => {
      const oldest = beginningOf(monthOf(Date.now()) - together.config.existence.monthsBefore)
      await together.report('7', [
        { oid: 'old', viewedAt: oldest - 1 },
        { oid: 'just', viewedAt: oldest + HOUR },
        { oid: 'ahead', viewedAt: Date.now() + 60_000 },
      ])
      await together.persisted()
      const found = await staged('7')
      expect([...found.keys()].sort()).toEqual(['ahead', 'just'])
      // Never later than the server's own time.
      expect(found.get('ahead')).toBeLessThanOrEqual(Date.now())
    })
  })
}

describe("plays from the players' reports, by configuration", () => {
  const [embedded] = BOTH_SHAPES

  test('switched off, reports play nothing', async () => {
    const together = await startTogether(embedded!.open, helpConfig({ existence: { fromHistory: false } }))
    await together.report('7', [{ oid: '1' }])
    await together.persisted()
    expect(together.count('seenHot.stagePlays')).toBe(0)
    await together.stop()
  })

  const business = (settings: object) =>
    makeConfig([{ name: 'test', values: { businesses: [{ number: 1, name: 'video', entity: 'Video', ...settings }] } }]).businesses[0]!
  const at = (position: number, more: Partial<ProgressRecord> = {}): ProgressRecord => ({
    ...{ viewedAt: 1, since: 0, rank: 0, version: 0, position, duration: 0, device: '', finished: false, deleted: false },
    ...more,
  })

  test('a business says from which position on it counts', () => {
    expect([4_999, 5_000].map((position) => isPlayed(at(position), business({})))).toEqual([false, true])
    expect([29_999, 30_000].map((position) => isPlayed(at(position), business({ playedFrom: 30_000 })))).toEqual([false, true])
    expect([0, 1].map((position) => isPlayed(at(position), business({ playedFrom: 0 })))).toEqual([false, true])
    expect(isPlayed(at(0, { finished: true }), business({ playedFrom: 30_000 }))).toBe(true)
    expect(isPlayed(at(60_000, { deleted: true }), business({}))).toBe(false)
    expect(isPlayed(at(60_000), undefined)).toBe(false)
  })
})
