import { describe, expect, test } from 'vitest'
import { makeDrain } from '../../../cli/process/drain.ts'
import { makeSteppedClock } from '../../../harness/stepped-clock.ts'

describe('drain', () => {
  test('steps run one after the other, once, for any number of calls', async () => {
    const order: string[] = []
    const step = (name: string) => ({
      name,
      async run() {
        order.push(`${name} begins`)
        await Promise.resolve()
        order.push(`${name} ends`)
      },
    })
    const drain = makeDrain(makeSteppedClock(), [step('a'), step('b')], { maxMs: 1_000 }, () => {})
    expect(await Promise.all([drain(), drain()])).toEqual([true, true])
    expect(order).toEqual(['a begins', 'a ends', 'b begins', 'b ends'])
  })

  test('a step that fails is reported, and the next still runs', async () => {
    const failures: string[] = []
    const order: string[] = []
    const steps = [
      { name: 'a', run: () => Promise.reject(new Error('no')) },
      { name: 'b', run: () => void order.push('b') },
    ]
    const drain = makeDrain(makeSteppedClock(), steps, { maxMs: 1_000 }, (name, error) => failures.push(`${name}: ${String(error)}`))
    expect(await drain()).toBe(false)
    expect(failures).toEqual(['a: Error: no'])
    expect(order).toEqual(['b'])
  })

  test('a step that never ends does not hold the process longer than maxMs', async () => {
    const clock = makeSteppedClock()
    const drain = makeDrain(clock, [{ name: 'stuck', run: () => new Promise<void>(() => {}) }], { maxMs: 1_000 }, () => {})
    const drained = drain()
    clock.advance(1_000)
    expect(await drained).toBe(false)
  })
})
