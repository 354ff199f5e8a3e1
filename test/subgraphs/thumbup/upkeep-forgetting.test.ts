/** The removal of deleted businesses by the job: its order, and the intervals of its searches. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { MarkChanges } from '../../../subgraphs/thumbup/stores/record-store.ts'
import { makePublisher } from '../../../subgraphs/thumbup/persist/outbox.ts'
import { makeUpkeep } from '../../../subgraphs/thumbup/persist/upkeep.ts'
import { makeSteppedClock, type SteppedClock } from '../../../harness/stepped-clock.ts'
import { openMarkedStores, type MarkedStores } from './marked-stores.ts'

const DAY = 86_400_000
const GONE = 3
const FORGETTING = ['hot.forgetBusiness', 'records.deleteBusiness', 'cache.forgetCounts', 'events.forgetEvents']

describe('upkeep', () => {
  let stores: MarkedStores
  let clock: SteppedClock
  beforeEach(() => {
    stores = openMarkedStores({ records: 'lmdb' })
    clock = makeSteppedClock()
  })
  afterEach(() => stores.close())

  const make = () => {
    const options = { tombstoneMs: DAY, archiveAfterMs: undefined, deleted: [GONE] }
    const upkeep = makeUpkeep(
      clock,
      stores.stores,
      () => [0, 1, 2, 3],
      () => true,
      options,
    )
    return () => upkeep.round(() => true)
  }
  const forgotten = () => stores.calls.filter((call) => FORGETTING.includes(call))
  const put = (oid: string) =>
    stores.plain.hot.putMarks([{ viewer: '7', business: GONE, oid, mark: 'LIKE', markedAt: clock.now(), base: null, blind: true }], {
      now: clock.now(),
      cap: 10,
    })

  test('clears the hot store before the record store, so that no dirty mark comes back into it', async () => {
    await put('x')
    await stores.plain.records.applyMarks(
      [{ key: { viewer: '7', business: GONE, oid: 'x' }, record: { mark: 'LIKE', markedAt: 5, version: 5 } }],
      [],
    )
    const event = { id: 'e', viewer: '7', business: GONE, oid: 'x', old: 'NONE' as const, mark: 'LIKE' as const, markedAt: 5, version: 5 }
    await stores.plain.events.appendEvents([event, { ...event, business: 1 }], [])
    await make()()
    expect([...new Set(forgotten())]).toEqual(FORGETTING)
    expect([await stores.plain.events.countEvents?.(GONE), await stores.plain.events.countEvents?.(1)]).toEqual([0, 1])
    expect(await stores.plain.hot.countDirtyMarks()).toBe(0)
    expect(await stores.plain.records.exportMarks(GONE, undefined, 10)).toEqual([])
  })

  test('scans for an empty deleted business less and less often, down to once a day', async () => {
    const round = make()
    await round()
    expect(forgotten()).toHaveLength(4)
    for (let at = 0; at < 10; at++) await round()
    expect(forgotten()).toHaveLength(4)
    clock.advance(60_000)
    await round()
    expect(forgotten()).toHaveLength(8)
    clock.advance(60_000)
    await round()
    expect(forgotten()).toHaveLength(8)
    for (let hour = 0; hour < 10 * 24; hour++) {
      clock.advance(DAY / 24)
      await round()
    }
    const before = forgotten().length
    for (let hour = 0; hour < 10 * 24; hour++) {
      clock.advance(DAY / 24)
      await round()
    }
    expect(forgotten().length - before).toBe(4 * 10)
  })

  test('removes a late write of a process unaware of the deletion, and then scans again soon', async () => {
    const round = make()
    await round()
    await put('late')
    clock.advance(60_000)
    await round()
    expect(await stores.plain.hot.countDirtyMarks()).toBe(0)
    const before = stores.count('hot.forgetBusiness')
    await round()
    expect(stores.count('hot.forgetBusiness')).toBe(before + 1)
  })
})

describe('the publisher', () => {
  let stores: MarkedStores
  beforeEach(() => {
    stores = openMarkedStores({ records: 'lmdb' })
  })
  afterEach(() => stores.close())

  test('publishes the entries that existed when the last round ended, and leaves newer ones to their own step', async () => {
    const like = (viewer: string): Promise<{ changes?: MarkChanges | undefined }> =>
      stores.plain.records.applyMarks([{ key: { viewer, business: 1, oid: 'a' }, record: { mark: 'LIKE', markedAt: 5, version: 5 } }], [])
    const publish = makePublisher(stores.stores, () => true)
    const first = (await like('1')).changes?.number
    expect(await publish(() => true)).toBe(0)
    const second = (await like('2')).changes?.number
    expect(await stores.plain.records.listOutboxNumbers(10)).toEqual([first, second])
    expect(await publish(() => true)).toBe(1)
    expect(await stores.plain.records.listOutboxNumbers(10)).toEqual([second])
    expect(await publish(() => true)).toBe(1)
    expect(await stores.plain.records.listOutboxNumbers(10)).toEqual([])
  })
})
