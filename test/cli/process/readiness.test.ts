/** The results of `/health/ready`: how often the stores are asked, and how their answers affect a process. */
import { describe, expect, test } from 'vitest'
import { makeReadiness } from '../../../cli/process/readiness.ts'
import { TidemarkError } from '../../../core/errors.ts'
import { makeSteppedClock } from '../../../harness/stepped-clock.ts'

function makeStore() {
  let checks = 0
  let answer: (() => Promise<void>) | undefined
  return {
    check: () => {
      checks++
      return answer?.() ?? Promise.resolve()
    },
    checks: () => checks,
    answers(how: (() => Promise<void>) | undefined): void {
      answer = how
    },
  }
}
const down = () => Promise.reject(new TidemarkError('HOT_STORE_UNAVAILABLE', 'away'))

describe('readiness', () => {
  function setUp() {
    const clock = makeSteppedClock()
    const [hot, log, records, own] = [makeStore(), makeStore(), makeStore(), makeStore()]
    const tenants = new Map([[2, { hot: own, log: own, records: own }]])
    const businesses = [
      { number: 1, name: 'video' },
      { number: 2, name: 'article' },
    ]
    return { clock, hot, log, records, own, ready: makeReadiness({ hot, log, records, tenants }, clock, businesses) }
  }

  test('asks each store once for concurrent requests and within the same second', async () => {
    const { clock, hot, own, ready } = setUp()
    const all = await Promise.all(Array.from({ length: 100 }, ready))
    expect(new Set(all.map(({ ok }) => ok))).toEqual(new Set([true]))
    clock.advance(999)
    await ready()
    expect([hot.checks(), own.checks()]).toEqual([1, 3])
    clock.advance(1)
    await ready()
    expect([hot.checks(), own.checks()]).toEqual([2, 6])
  })

  test('has the live version of the moment, also while it repeats the words of the stores', async () => {
    const { clock, hot, log, records } = setUp()
    let version = 1
    const liveStatus = () => ({ version, hash: 'abc', problem: undefined })
    const ready = makeReadiness({ hot, log, records, liveStatus }, clock)
    expect((await ready()).config).toEqual({ version: 1, hash: 'abc' })
    version = 2
    expect((await ready()).config).toEqual({ version: 2, hash: 'abc' })
    expect(hot.checks()).toBe(1)
  })

  test('starts no second check while one is under way, even if it takes longer than its answer is valid', async () => {
    const { clock, hot, ready } = setUp()
    hot.answers(() => new Promise<void>(() => undefined))
    const first = ready()
    clock.advance(1_500)
    const second = ready()
    expect(hot.checks()).toBe(1)
    clock.advance(500)
    expect((await first).stores['hotStore']).toMatch(/no answer/)
    expect(await second).toEqual(await first)
    hot.answers(undefined)
    expect((await ready()).stores['hotStore']).toBe('ok')
  })

  test('reports a failed store a second later, and one of a business without becoming unready', async () => {
    const { clock, hot, records, own, ready } = setUp()
    expect(await ready()).toMatchObject({ ok: true })
    hot.answers(down)
    own.answers(down)
    clock.advance(1_000)
    const one = await ready()
    expect(one).toMatchObject({ ok: true, stores: { recordStore: 'ok' } })
    expect(one.stores['hotStore']).toMatch(/^HOT_STORE_UNAVAILABLE/)
    expect(one.tenants?.['article']?.['hotStore']).toMatch(/^HOT_STORE_UNAVAILABLE/)
    expect(one.tenants?.['video']).toBeUndefined()
    records.answers(down)
    clock.advance(1_000)
    expect(await ready()).toMatchObject({ ok: false })
  })
})
