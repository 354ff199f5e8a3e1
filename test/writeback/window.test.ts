import { setImmediate as turn } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { makeWindows, type WindowOffset } from '../../writeback/window.ts'
import { makeSteppedClock } from '../../harness/stepped-clock.ts'

const keyOf = (oid: string) => ({ viewer: '7', business: 1, oid })

function open(options = { windowMs: 100, keysMax: 5 }) {
  const clock = makeSteppedClock()
  const steps: { oids: string[]; offsets: readonly WindowOffset[] }[] = []
  let failure: Error | undefined
  const windows = makeWindows(
    clock,
    async (keys, offsets) => {
      steps.push({ oids: keys.map(({ oid }) => oid), offsets })
      await turn()
      if (failure !== undefined) throw failure
    },
    options,
  )
  const done: number[] = []
  const add = (partition: number, offset: number, ...oids: string[]) =>
    windows.add({ partition, offset, keys: oids.map(keyOf) }).then(
      () => void done.push(partition),
      () => void done.push(-partition),
    )
  return { clock, steps, windows, done, add, fail: (error?: Error) => (failure = error) }
}

describe('windows', () => {
  test('batches of all partitions are persisted together, each key once, and are committed only then', async () => {
    const { clock, steps, done, add, windows } = open()
    const all = [add(1, 10, 'a', 'b'), add(2, 20, 'b', 'c')]
    clock.advance(99)
    await turn()
    expect([steps, done]).toEqual([[], []])
    clock.advance(1)
    expect(steps).toEqual([
      {
        oids: ['a', 'b', 'c'],
        offsets: [
          { partition: 1, offset: 10 },
          { partition: 2, offset: 20 },
        ],
      },
    ])
    expect(done).toEqual([])
    await Promise.all(all)
    expect(done).toEqual([1, 2])
    await windows.stop()
    expect(clock.pending()).toBe(0)
  })

  test.each([
    ['shorter', 600_000, 1_500, 1_500],
    ['longer', 1_500, 5_000, 5_000],
    ['shorter than its age', 600_000, 200, 1_000],
    ['zero', 600_000, 0, 1_000],
  ])('an open window whose time becomes %s ends at the new time, or within a second', async (_, before, after, end) => {
    const options = { windowMs: before, keysMax: 5 }
    const { clock, steps, add, windows } = open(options)
    const added = add(1, 1, 'a')
    clock.advance(500)
    options.windowMs = after
    clock.advance(end - 501)
    expect(steps).toEqual([])
    clock.advance(1)
    expect(steps).toHaveLength(1)
    await added
    await windows.stop()
    expect(clock.pending()).toBe(0)
  })

  test('a full window does not wait', async () => {
    const { steps, add } = open()
    await Promise.all([add(1, 1, 'a', 'b'), add(2, 2, 'c', 'd', 'e')])
    expect(steps).toHaveLength(1)
  })

  test('a batch that arrives during a persist step is in the next window', async () => {
    const { clock, steps, add } = open()
    const first = add(1, 1, 'a')
    clock.advance(100)
    const second = add(2, 2, 'b')
    await first
    expect(steps).toHaveLength(1)
    clock.advance(100)
    await second
    expect(steps[1]?.oids).toEqual(['b'])
  })

  test('no batch of a window that fails is committed', async () => {
    const { clock, done, add, fail } = open()
    fail(new Error('the record store is down'))
    const all = [add(1, 1, 'a'), add(2, 2, 'b')]
    clock.advance(100)
    await Promise.all(all)
    expect(done).toEqual([-1, -2])
  })

  test('stopping persists waiting batches at once, and leaves no timer', async () => {
    const { clock, done, add, windows } = open()
    const waiting = add(1, 1, 'a')
    await windows.stop()
    await waiting
    expect(done).toEqual([1])
    expect(clock.pending()).toBe(0)
    await add(2, 2, 'b')
    expect(done).toEqual([1, 2])
  })
})
