import { expect, test } from 'vitest'
import { highestRate } from '../../harness/planning/highest-rate.ts'
import { rateOfMachines, type SerialPart } from '../../harness/planning/more-machines.ts'

test('the search doubles until a rate fails, and then halves the interval', async () => {
  const tried: number[] = []
  const found = await highestRate(250, 3, (rate) => {
    tried.push(rate)
    return Promise.resolve(rate <= 1_600)
  })
  expect(tried).toEqual([250, 500, 1_000, 2_000, 1_500, 1_750, 1_625])
  expect(found).toBe(1_500)
})

test('the search goes down if the first rate fails, and finds 0 if none holds', async () => {
  expect(await highestRate(200, 1, (rate) => Promise.resolve(rate <= 60))).toBe(50)
  expect(await highestRate(200, 1, () => Promise.resolve(false))).toBe(0)
})

test('machines add up until a serial part is full, which is named', () => {
  const redis: SerialPart = { name: 'Redis', perCall: 0.0001, count: () => 1 }
  const gateway: SerialPart = { name: 'gateway', perCall: 0.0004, count: (machines) => machines }
  const measured = { perCall: 0.001, busyCores: 2, busyMax: 0.8, parts: [redis, gateway] }
  expect(rateOfMachines(1, measured)).toEqual({ calls: 2_000, limit: 'the cores' })
  expect(rateOfMachines(4, measured)).toEqual({ calls: 8_000, limit: 'the cores' })
  expect(rateOfMachines(8, measured)).toEqual({ calls: 8_000, limit: 'Redis' })
  expect(rateOfMachines(2, { ...measured, busyMax: 0.5 })).toEqual({ calls: 2_500, limit: 'gateway' })
})
