import { expect, test } from 'vitest'
import type { Redis } from 'ioredis'
import { forgetLink, makeShardPlacement, type ShardSubscription } from '../../../stores/redis/shard-placement.ts'

/** A server that gives the slot away right after its first answer, as when a slot leaves and comes back. */
test('a slot that is given away while its channel is subscribed is subscribed again, also on the same server', async () => {
  const subscription: ShardSubscription = { slot: 7, link: undefined, target: undefined, placing: undefined, wasPlaced: false }
  const subscriptions = new Map([['channel', subscription]])
  const gaps: string[] = []
  let calls = 0
  const link = {
    status: 'ready',
    async ssubscribe() {
      calls++
      if (calls === 1) forgetLink(subscriptions.values(), link)
    },
  } as unknown as Redis
  const place = makeShardPlacement(
    { ownerOf: () => link, refreshTopology: () => undefined },
    { linkTo: () => link, probe: () => undefined, close: () => undefined },
    subscriptions,
    (_, side) => gaps.push(side),
  )
  await place('channel', subscription)
  expect([subscription.link, gaps]).toEqual([undefined, []])
  await place('channel', subscription)
  expect([subscription.link, calls, gaps]).toEqual([link, 2, ['begins', 'ends']])
  await place('channel', subscription)
  expect(calls).toBe(2)
})
