/** The parts of quotas that all capabilities share: rates, and sums of stored rows. */
import { describe, expect, test } from 'vitest'
import { makeSteppedClock } from '../../harness/stepped-clock.ts'
import { until } from '../../harness/until.ts'
import { makeStoredSums, type SumPage } from '../../subgraphs/stored-sums.ts'
import { makeWriteRates } from '../../subgraphs/write-rates.ts'

const turn = () => new Promise<void>((resolve) => void setImmediate(resolve))

describe('rates', () => {
  test('a limit that changes while the process runs takes effect with the next write', () => {
    const business = { name: 'video', perSecond: 2 as number | undefined }
    const rates = makeWriteRates(makeSteppedClock(), { byNumber: () => business }, ({ perSecond }) => perSecond, 'report')
    const admitted = (writes: number) => {
      let count = 0
      for (let at = 0; at < writes; at++) {
        try {
          rates.admit(1)
          count++
        } catch {
          // Refused.
        }
      }
      return count
    }
    expect(admitted(5)).toBe(2)
    business.perSecond = 4
    expect(admitted(5)).toBe(4)
    business.perSecond = undefined
    expect(admitted(50)).toBe(50)
  })

  test('a business has the whole of its rate, whatever other businesses write', () => {
    const limits = new Map([
      [1, { name: 'video', perSecond: 3 }],
      [2, { name: 'article', perSecond: 3 }],
    ])
    const rates = makeWriteRates(makeSteppedClock(), { byNumber: (number) => limits.get(number) }, ({ perSecond }) => perSecond, 'play')
    rates.admit(1, 100)
    expect(() => rates.admit(1)).toThrow('business "video" has used its 3 plays of this second: send the play again later')
    for (let at = 0; at < 3; at++) rates.admit(2)
    expect(() => rates.admit(2)).toThrow('business "article"')
    rates.admit(3, 1_000)
  })
})

describe('sums of stored rows', () => {
  /** Pages of a store: each has one row of business 1. */
  function walked(pages: number, isQuota: () => boolean) {
    const clock = makeSteppedClock()
    const store = { pages, reads: 0, fails: false }
    const errors: unknown[] = []
    const sums = makeStoredSums(
      clock,
      // oxlint-disable-next-line typescript/require-await -- a failure must reject
      async (place): Promise<SumPage<string>> => {
        store.reads++
        if (store.fails) throw new Error('the store is down')
        const at = Number(place ?? 0)
        return { sums: new Map([[1, { rows: 1, bytes: 10 }]]), next: at + 1 < store.pages ? String(at + 1) : undefined }
      },
      isQuota,
      (error) => errors.push(error),
    )
    const pass = async (ms: number) => {
      for (let at = 0; at < ms; at += 200) {
        clock.advance(200)
        await turn()
      }
    }
    return { clock, store, sums, errors, pass }
  }

  test('a store is not read until its sums are wanted, and no longer an hour later', async () => {
    const { store, sums, pass } = walked(3, () => false)
    await pass(2_000)
    expect(sums.known(1)).toBe(undefined)
    await pass(2_000)
    expect(store.reads).toBe(0)
    expect(sums.of(1)).toBe(undefined)
    await pass(2_000)
    expect(store.reads).toBe(3)
    expect([sums.of(1), sums.of(2)]).toEqual([
      { rows: 3, bytes: 30 },
      { rows: 0, bytes: undefined },
    ])
    await pass(3_700_000)
    const { reads } = store
    await pass(300_000)
    expect(store.reads).toBe(reads)
    await sums.stop()
  })

  test('with a quota, rows count from the first page on, and deleted rows leave the sum with the next walk', async () => {
    const { store, sums, pass } = walked(5, () => true)
    await pass(400)
    expect(sums.of(1)?.rows).toBe(2)
    await pass(1_000)
    expect(sums.of(1)?.rows).toBe(5)
    store.pages = 1
    await pass(1_000)
    expect(sums.of(1)?.rows).toBe(1)
    await sums.stop()
  })

  test('a page that fails is read again, and the sum is exact', async () => {
    const { store, sums, errors, pass } = walked(4, () => true)
    await pass(400)
    store.fails = true
    await pass(400)
    expect(errors.length).toBeGreaterThan(0)
    store.fails = false
    await pass(400)
    await until('the walk has ended', () => Promise.resolve(sums.of(1)?.rows === 4))
    await sums.stop()
  })
})
