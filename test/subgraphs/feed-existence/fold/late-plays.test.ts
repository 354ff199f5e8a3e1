import { expect, test } from 'vitest'
import { until } from '../../../../harness/until.ts'
import { DAY, openSeen, serveSeen } from '../opened.ts'

test('plays that waited longer than the live months are dropped, and others are staged', async () => {
  const opened = openSeen()
  const served = serveSeen(opened)
  opened.set('hot', true)
  await served.play('7', ['too old'])
  opened.clock.advance(150 * DAY)
  await served.play('7', ['new'])
  await served.play('8', ['old'], opened.clock.now() - 20 * DAY)
  expect(served.subgraph.figures().staging.waiting).toBe(3)
  opened.set('hot', false)
  await until('none waits', () => {
    opened.clock.advance(1_000)
    return served.subgraph.figures().staging.waiting === 0
  })
  const stagedOf = async (viewer: string) => (await opened.plain.hot.getSeen(viewer, 1)).staged.map(({ oid }) => oid)
  expect([await stagedOf('7'), await stagedOf('8')]).toEqual([['new'], ['old']])
  await served.stop()
  await opened.close()
})
