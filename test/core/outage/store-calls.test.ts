import { expect, test } from 'vitest'
import { TidemarkError } from '../../../core/errors.ts'
import { CALL_SECONDS, makeStoreCalls } from '../../../core/outage/store-calls.ts'

const PLACE = { subgraph: 'history', store: 'hot', business: '' }

/** A store whose calls take `ms` each and end with `error`, if there is one. */
function open() {
  const state: { ms: number; error: unknown; now: number } = { ms: 0, error: undefined, now: 0 }
  const calls = makeStoreCalls(() => state.now)
  const store = calls.measure(PLACE, {
    size: 7,
    async get(key: string) {
      state.now += state.ms
      if (state.error !== undefined) throw state.error
      return `${key} of ${this.size}`
    },
    partOf: (key: string) => key.length,
    readAll: async function* () {
      yield 1
    },
    close: async () => undefined,
  })
  return { state, store, figures: calls.figures }
}

test('a call is counted in the bucket of its duration, and its answer is passed on', async () => {
  const { state, store, figures } = open()
  for (const ms of [0.5, 0.6, 3, 3, 60_000]) {
    state.ms = ms
    expect(await store.get('a')).toBe('a of 7')
  }
  const [times, ...more] = figures()
  expect(more).toEqual([])
  expect(times).toMatchObject({ ...PLACE, operation: 'get', outcome: 'ok' })
  expect(times?.seconds).toBeCloseTo(60.0071)
  const counted = new Map(
    [...CALL_SECONDS, Infinity].map((bound, at) => [bound, times?.counts[at]]).filter(([, count]) => count !== 0) as [number, number][],
  )
  expect(counted).toEqual(
    new Map([
      [0.0005, 1],
      [0.001, 1],
      [0.005, 2],
      [Infinity, 1],
    ]),
  )
})

test.each([
  ['unavailable', new TidemarkError('HOT_STORE_UNAVAILABLE', 'it is down')],
  ['unavailable', new TidemarkError('RECORD_STORE_UNAVAILABLE', 'it is down')],
  ['full', new TidemarkError('STORE_FULL', 'it is full')],
  ['failed', new TidemarkError('DATA_INCOMPATIBLE', 'another schema')],
  ['failed', new Error('a bug')],
] as const)('the outcome of a failed call is %s for %s, and the caller gets the same error', async (outcome, error) => {
  const { state, store, figures } = open()
  state.error = error
  await expect(store.get('a')).rejects.toBe(error)
  expect(figures().map((each) => [each.operation, each.outcome])).toEqual([['get', outcome]])
})

test('methods that ask no server are not counted, and properties stay', async () => {
  const { store, figures } = open()
  expect([store.partOf('abc'), store.size]).toEqual([3, 7])
  for await (const one of store.readAll()) expect(one).toBe(1)
  await store.close()
  expect(figures()).toEqual([])
})
