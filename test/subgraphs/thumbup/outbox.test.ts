import { afterEach, beforeEach, expect, test } from 'vitest'
import type { MarkChanges } from '../../../subgraphs/thumbup/stores/record-store.ts'
import { makePublisher, publishOutbox } from '../../../subgraphs/thumbup/persist/outbox.ts'
import { openMarkedStores, type MarkedStores } from './marked-stores.ts'

let stores: MarkedStores
beforeEach(() => {
  stores = openMarkedStores()
})
afterEach(() => stores.close())

function wait(business: number, count: number): void {
  for (let at = 0; at < count; at++) {
    const number = ++stores.rows.lastNumber
    const changes: MarkChanges = {
      number,
      transitions: [],
      counts: [{ business, oid: String(number), counts: { likes: 1, dislikes: 0, version: 1 } }],
      owners: [],
    }
    stores.rows.outbox.set(number, changes)
  }
}

test('waiting entries of another business with an absent job do not block ours', async () => {
  wait(2, 1_200)
  wait(1, 25)
  const publish = makePublisher(stores.stores, (business) => business === 1)
  expect([await publish(() => true), await publish(() => true)]).toEqual([0, 25])
  expect([...stores.rows.outbox.values()].filter(({ counts }) => counts[0]?.business === 1)).toEqual([])
  expect(stores.rows.outbox.size).toBe(1_200)
})

test('for any number of waiting entries, few changes are in memory at once', async () => {
  wait(1, 300)
  const asked: number[] = []
  const { listOutbox } = stores.stores.records
  stores.stores.records.listOutbox = (limit, after) => {
    asked.push(limit)
    return listOutbox(limit, after)
  }
  const publish = makePublisher(stores.stores, () => true)
  expect([await publish(() => true), await publish(() => true)]).toEqual([0, 300])
  expect(Math.max(...asked)).toBeLessThanOrEqual(10)
})

test('one publication reads each page once, whatever is not due', async () => {
  wait(2, 300)
  wait(1, 15)
  let pages = 0
  const { listOutbox } = stores.stores.records
  stores.stores.records.listOutbox = (limit, after) => {
    pages++
    return listOutbox(limit, after)
  }
  expect(await publishOutbox(stores.stores, ({ counts }) => counts[0]?.business === 1)).toBe(15)
  expect(stores.rows.outbox.size).toBe(300)
  expect(pages).toBeLessThanOrEqual(33)
})
