/** A play reported to history is hidden from its acknowledgement on, before it is persisted. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { beginningOf, monthOf } from '../../../subgraphs/feed-existence/model/time-ring.ts'
import { until } from '../../../harness/until.ts'
import { BOTH_SHAPES, helpConfig, numbered, startTogether, type Together } from './with-history.ts'

/** Nothing is persisted during a test. */
const config = () => helpConfig({ history: { flushAgeMaxMs: 60_000, sweepAfterMs: 300_000, sweepEveryMs: 60_000 } })
const DAY = 86_400_000
const DIES = join(import.meta.dirname, 'dies-before-staging.ts')

for (const { name, open } of BOTH_SHAPES) {
  describe(`a reported play is hidden at once, ${name}`, () => {
    let together: Together
    beforeEach(async () => {
      together = await startTogether(open, config())
    })
    afterEach(() => together.stop())

    const staged = async (viewer: string) => (await together.stores.seenHot.getSeen(viewer, 1)).staged

    test('no play is shown again after its acknowledgement, and a glance is', async () => {
      let shownAgain = 0
      for (const oid of numbered(50)) {
        await together.report('7', [{ oid }])
        shownAgain += (await together.unseen('7', [oid])).length
      }
      expect(shownAgain).toBe(0)
      await together.report('7', [
        { oid: 'glance', position: 4_999 },
        { oid: 'ended', position: 10, finished: true },
      ])
      expect(await together.unseen('7', ['glance', 'ended', 'other'])).toEqual(['glance', 'other'])
    })

    test('heartbeats after the first counted one stage nothing', async () => {
      for (const position of [1_000, 4_000, 5_000, 20_000, 35_000, 50_000]) await together.report('7', [{ oid: '1', position }])
      expect(together.count('seenHot.stagePlays')).toBe(1)
      await together.report('7', [{ oid: '1', position: 65_000 }, { oid: '2' }, { oid: '3' }])
      expect([together.count('seenHot.stagePlays'), together.asked('seenHot.stagePlays')]).toEqual([2, 3])
    })

    test('a play of an earlier month goes into the filter of that month, and a play of this month is staged again', async () => {
      const lastMonth = beginningOf(monthOf(Date.now())) - DAY
      await together.report('7', [{ oid: '1', viewedAt: lastMonth }])
      expect((await staged('7')).map(({ playedAt }) => playedAt)).toEqual([lastMonth])
      await together.report('7', [{ oid: '1', viewedAt: lastMonth + 1_000 }])
      expect(together.count('seenHot.stagePlays')).toBe(1)
      const now = Date.now()
      await together.report('7', [{ oid: '1', viewedAt: now }])
      expect((await staged('7')).map(({ playedAt }) => playedAt)).toContain(now)
      await together.foldAll('7')
      expect(await together.unseen('7', ['1'])).toEqual([])
      await together.report('7', [{ oid: 'old', viewedAt: beginningOf(monthOf(now) - together.config.existence.monthsBefore) - 1 }])
      expect(await together.unseen('7', ['old'])).toEqual(['old'])
    })

    test('a failed staging does not block the acknowledgement, and the persist step stages the play', async () => {
      for (const code of ['HOT_STORE_UNAVAILABLE', 'STORE_FULL'] as const) {
        together.refuse('seenHot.stagePlays', code)
        await together.report('7', [{ oid: code }])
        expect(await staged('7')).not.toContainEqual(expect.objectContaining({ oid: code }))
        together.refuse('seenHot.stagePlays', undefined)
      }
      await together.history.drain()
      await until('the persist step has staged them', async () => (await staged('7')).length === 2)
    })

    test('the persist step does not stage a play again that its report staged on the same day', async () => {
      await together.report('7', [{ oid: '1' }, { oid: '2', viewedAt: Date.now() - 2 * DAY }, { oid: 'glance', position: 10 }])
      await together.report('7', [{ oid: '1', position: 75_000 }])
      await together.history.drain()
      await together.persisted()
      expect(together.asked('seenHot.stagePlays')).toBe(2)
      expect(together.asked('records.putProgress')).toBe(3)
    })

    test('a play on a later day is staged by the persist step', async () => {
      const noon = Date.now() - 2 * DAY
      await together.report('7', [{ oid: '1', viewedAt: noon }])
      await together.report('7', [{ oid: '1', viewedAt: noon + DAY }])
      await together.history.drain()
      await together.persisted()
      expect(await staged('7')).toEqual([{ oid: '1', playedAt: noon + DAY }])
    })

    test('a report of a paused viewer is not a play', async () => {
      const viewer = { id: '7', scopes: [] }
      await together.history.service.setPaused(viewer, true, new Set())
      await together.history.service.report(viewer, [{ business: 'video', id: '1', position: 60_000 }], new Set())
      expect(await staged('7')).toEqual([])
    })
  })
}

for (const { name, open } of BOTH_SHAPES) {
  test(`a play of a process killed between put and staging is staged by the sweeper, ${name}`, async () => {
    const together = await startTogether(open)
    const { environment, redisUrls } = together.stores
    await together.stopJob()
    const folder = redisUrls === undefined ? environment.folder : mkdtempSync(join(tmpdir(), 'tidemark-killed-'))
    const child = spawn(process.execPath, [DIES, JSON.stringify({ folder, redisUrls, regions: together.config.stores.regions })], {
      stdio: 'inherit',
    })
    expect(await once(child, 'exit')).toEqual([null, 'SIGKILL'])
    expect(await together.stores.hot.countDirty()).toBe(1)
    expect(await together.unseen('7', ['1'])).toEqual(['1'])
    await together.startJob()
    await together.persisted()
    expect(await together.unseen('7', ['1'])).toEqual([])
    await together.stop()
    if (redisUrls !== undefined) rmSync(folder, { recursive: true })
  })
}

test('a report stages nothing if fromHistory is off', async () => {
  const together = await startTogether(BOTH_SHAPES[0]!.open, helpConfig({ existence: { fromHistory: false } }))
  await together.report('7', [{ oid: '1' }])
  expect(together.count('seenHot.stagePlays')).toBe(0)
  await together.stop()
})
