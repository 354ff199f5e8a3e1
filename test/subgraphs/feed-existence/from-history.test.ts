/** Reports to history count as plays for feeds. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { makeConfig } from '../../../config/config.ts'
import type { ProgressRecord } from '../../../core/domain.ts'
import { beginningOf, monthOf } from '../../../subgraphs/feed-existence/model/time-ring.ts'
import { isPlayed } from '../../../subgraphs/played.ts'
import { BOTH_SHAPES, helpConfig, startTogether, type Together } from './with-history.ts'
import { until } from '../../../harness/until.ts'

const HOUR = 3_600_000

for (const { name, open } of BOTH_SHAPES) {
  describe(`plays from the reports of players, ${name}`, () => {
    let together: Together
    beforeEach(async () => {
      together = await startTogether(open)
    })
    afterEach(() => together.stop())

    const staged = async (viewer: string, business = 1) => {
      const { staged } = await together.stores.seenHot.getSeen(viewer, business)
      return new Map(staged.map(({ oid, playedAt }) => [oid, playedAt]))
    }

    test('a reported play is seen once it is flushed, and a glance is not', async () => {
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

    test('repeated reports in any order end in the newest visit, before and after a fold', async () => {
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

    test('an unstaged play stays dirty: with the hot store full and the log down, it is staged later', async () => {
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

    test('a full hot store leaves plays to the log, and the job stages them from it', async () => {
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

    test('with the record store down, plays are still hidden from the feed', async () => {
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

    test('with the log of history down, directly flushed reports are plays too', async () => {
      await together.stopJob()
      together.refuse('log', 'LOG_UNAVAILABLE')
      await together.report('7', [{ oid: '1' }])
      await until('it is staged', async () => (await staged('7')).has('1'))
      together.refuse('log', undefined)
      await together.startJob()
    })

    test('reports of a paused or deleting viewer are not plays, and cleared reports still are', async () => {
      await together.history.service.setPaused({ id: '9', scopes: [] }, true, new Set())
      const [answer] = await together.history.service.report(
        { id: '9', scopes: [] },
        [{ business: 'video', id: '1', position: 60_000 }],
        new Set(),
      )
      expect(answer?.outcome).toBe('PAUSED')
      await together.report('7', [{ oid: '1' }])
      await together.persisted()
      await together.history.service.clearHistory({ id: '7', scopes: [] }, 'video', new Set())
      await together.history.service.deleteHistory({ id: '8', scopes: [] }, 'video', ['1'], new Set())
      await together.persisted()
      expect([...(await staged('7')).keys()]).toEqual(['1'])
      expect(await staged('8')).toEqual(new Map())
      expect(await staged('9')).toEqual(new Map())
    })

    test('reports older than the live months are skipped, and block nothing', async () => {
      const oldest = beginningOf(monthOf(Date.now()) - together.config.existence.monthsBefore)
      await together.report('7', [
        { oid: 'old', viewedAt: oldest - 1 },
        { oid: 'just', viewedAt: oldest + HOUR },
        { oid: 'ahead', viewedAt: Date.now() + 60_000 },
      ])
      await together.persisted()
      const found = await staged('7')
      expect([...found.keys()].sort()).toEqual(['ahead', 'just'])
      // The time of a play is never later than the time of the server.
      expect(found.get('ahead')).toBeLessThanOrEqual(Date.now())
    })
  })
}

describe('plays from the reports of players, by configuration', () => {
  const [embedded] = BOTH_SHAPES

  test('with fromHistory off, reports are not plays', async () => {
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

  test('a business configures the position from which a report is a play', () => {
    expect([4_999, 5_000].map((position) => isPlayed(at(position), business({})))).toEqual([false, true])
    expect([29_999, 30_000].map((position) => isPlayed(at(position), business({ playedFrom: 30_000 })))).toEqual([false, true])
    expect([0, 1].map((position) => isPlayed(at(position), business({ playedFrom: 0 })))).toEqual([false, true])
    expect(isPlayed(at(0, { finished: true }), business({ playedFrom: 30_000 }))).toBe(true)
    expect(isPlayed(at(60_000, { deleted: true }), business({}))).toBe(false)
    expect(isPlayed(at(60_000), undefined)).toBe(false)
  })
})
