/** The staging of `migrate-played --repair`, beside a worker with other settings. */
import { expect, onTestFinished, test } from 'vitest'
import { makeRepair } from '../../../cli/migrate/migration-repair.ts'
import { until } from '../../../harness/until.ts'
import { HOUR, SHAPE, openSeen, serveSeen } from '../../subgraphs/feed-existence/opened.ts'

const OTHER = { slots: SHAPE.slots + 3, shards: 2 * SHAPE.shards }

test('missing plays staged in portions under unknown slots and shards are still folded', async () => {
  const opened = openSeen()
  onTestFinished(opened.close)
  const served = serveSeen(opened)
  onTestFinished(served.stop)
  const job = await served.subgraph.startJob()
  onTestFinished(async () => {
    const stopped = job.stop()
    opened.clock.advance(HOUR)
    await stopped
  })
  await served.play('8', ['x'])
  const { hot } = opened.reopened(OTHER)
  const portions: number[] = []
  const repair = makeRepair(
    opened.clock,
    {
      ...hot,
      stagePlays(plays, options) {
        portions.push(plays.length)
        return hot.stagePlays(plays, options)
      },
    },
    OTHER,
  )
  const playedAt = opened.clock.now() - 1_000
  // Enough viewers that some are in shards outside the settings of the worker.
  const viewers = Array.from({ length: 12 }, (_, at) => String(10 + at))
  for (const viewer of viewers) await repair([{ viewer, business: 1, oid: 'missing', playedAt }])
  const many = Array.from({ length: 1_200 }, (_, oid) => String(oid))
  await repair(many.map((oid) => ({ viewer: '7', business: 1, oid, playedAt })))
  expect(portions).toEqual([...viewers.map(() => 1), 500, 500, 200])
  await until('all that is staged is folded', async () => {
    opened.clock.advance(HOUR / 6)
    return (await hot.countRing()).every((count) => count === 0)
  })
  expect(served.errors).toEqual([])
  for (const viewer of viewers) expect(await served.unseen(viewer, ['missing', 'new'])).toEqual(['new'])
  expect(await served.unseen('7', [...many.slice(0, 3), ...many.slice(-3), 'new'])).toEqual(['new'])
})
