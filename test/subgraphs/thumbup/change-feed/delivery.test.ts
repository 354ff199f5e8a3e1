import { expect, test } from 'vitest'
import { systemClock } from '../../../../core/clock.ts'
import { quietLogger } from '../../../../harness/samples/count-feeds.ts'
import { until } from '../../../../harness/until.ts'
import { startDelivery } from '../../../../subgraphs/thumbup/change-feed/mysql/delivery.ts'

const OPTIONS = { name: 'f', instance: 'i', place: { gtids: '' }, batchMax: 1_000 }

/** A piece of this many changes. */
const piece = (changes: number) => ({
  changes: Array.from({ length: changes }, (_, index) => ({
    kind: 'count' as const,
    counted: { business: 1, oid: String(index), counts: { likes: 1, dislikes: 0, version: 1 } },
  })),
})

test('a piece above the limit has to wait until enough changes are accepted', async () => {
  const accepts: (() => void)[] = []
  const delivery = startDelivery(systemClock, () => new Promise<void>((resolve) => accepts.push(resolve)), OPTIONS, quietLogger)
  let hasRoom = false
  expect(delivery.add(piece(5_000))).toBeUndefined()
  expect(delivery.add(piece(5_000))).toBeUndefined()
  const room = delivery.add(piece(1))?.then(() => (hasRoom = true))
  expect(room).toBeDefined()
  expect(delivery.isFull()).toBe(true)
  await until('the first is delivered', () => accepts.length === 1)
  expect(hasRoom).toBe(false)
  accepts[0]?.()
  await room
  expect(delivery.isFull()).toBe(false)
  expect(delivery.add(piece(1))).toBeUndefined()
  await until('the second is delivered', () => accepts.length === 2)
  accepts[1]?.()
  await until('the rest is delivered', () => accepts.length === 3)
  accepts[2]?.()
  await delivery.stop()
})
