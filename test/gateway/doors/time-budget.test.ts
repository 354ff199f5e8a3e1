import { expect, it } from 'vitest'
import { makeTimeBudget } from '../../../gateway/doors/time-budget.ts'

function stepped() {
  let at = 0
  const budget = makeTimeBudget({ share: 0.1, burstMs: 10 }, () => at)
  return { budget, work: (ms: number) => budget.spend(() => (at += ms)), wait: (ms: number) => void (at += ms) }
}

it('a budget takes work of its burst at once, then its share of the time', () => {
  const { budget, work, wait } = stepped()
  let worked = 0
  for (let step = 0; step < 10_000; step++) {
    if (budget.has()) worked += work(1) === undefined ? 0 : 1
    else wait(1)
  }
  expect(budget.spentMs()).toBe(worked)
  // 10 ms at once, and a tenth of 10,000 ms.
  expect(worked).toBeGreaterThanOrEqual(1_008)
  expect(worked).toBeLessThanOrEqual(1_012)
})

it('long work is paid back before the next', () => {
  const { budget, work, wait } = stepped()
  work(60)
  expect(budget.has()).toBe(false)
  wait(439)
  expect(budget.has()).toBe(false)
  wait(2)
  expect(budget.has()).toBe(true)
})

it('time without work saves up no more than the burst', () => {
  const { budget, work, wait } = stepped()
  wait(1_000_000)
  expect(budget.has()).toBe(true)
  work(11)
  expect(budget.has()).toBe(true)
  work(1)
  expect(budget.has()).toBe(false)
})

it('each work is charged its overhead too', () => {
  let at = 0
  const budget = makeTimeBudget({ share: 0.1, burstMs: 10, overheadMs: 4 }, () => at)
  budget.spend(() => (at += 2))
  expect(budget.has()).toBe(true)
  budget.spend(() => (at += 2))
  expect(budget.has()).toBe(false)
  expect(budget.spentMs()).toBe(4)
})
