import { describe, expect, test } from 'vitest'
import { TidemarkError } from '../../../core/errors.ts'
import { PartFull, PartOutage } from '../../../core/outage/part-outage.ts'
import { makeWriteWatch } from '../../../core/outage/write-watch.ts'
import { makeSteppedClock } from '../../../harness/stepped-clock.ts'

const FULL = new TidemarkError('STORE_FULL', 'it is full')
const DOWN = new TidemarkError('HOT_STORE_UNAVAILABLE', 'it is down')

/** A store of two parts: viewers with even ids, and with odd ids. `wrong`: the error of a part for writes. */
function open(inParts = true) {
  const clock = makeSteppedClock()
  const wrong = new Map<number | undefined, Error>()
  const [asked, told, back]: [(number | undefined)[], unknown[], (number | undefined)[]] = [[], [], []]
  const store = {
    ...(inParts && { partOf: (viewer: string) => Number(viewer) % 2 }),
    async check(part?: number) {
      asked.push(part)
      const error = wrong.get(part)
      if (error !== undefined) throw error
    },
  }
  const watch = makeWriteWatch(clock, store, { checkEveryMs: 1_000 }, (error) => told.push(error))
  watch.onClose((part) => back.push(part))
  async function pass(ms: number): Promise<void> {
    for (let left = ms; left > 0; left -= 1_000) {
      clock.advance(1_000)
      for (let turn = 0; turn < 5; turn++) await Promise.resolve()
      await new Promise((resolve) => setImmediate(resolve))
    }
  }
  return { clock, wrong, asked, told, back, watch, pass }
}

describe('a store that refuses writes', () => {
  test('is checked until it accepts them, part by part, and is reported once', async () => {
    const { wrong, asked, told, back, watch, pass } = open()
    wrong.set(0, FULL)
    watch.failed(['2', '4'], FULL)
    expect([watch.isRefusing('2'), watch.isRefusing('3'), watch.isOpen(), watch.opened()]).toEqual([true, false, true, 1])
    await pass(2_000)
    wrong.set(0, DOWN)
    await pass(1_000)
    expect([watch.isRefusing('2'), back]).toEqual([true, []])
    wrong.delete(0)
    await pass(1_000)
    expect([watch.isRefusing('2'), watch.isOpen(), back, told]).toEqual([false, false, [0], [FULL]])
    expect(asked).toEqual([0, 0, 0, 0])
    await pass(5_000)
    expect(asked).toHaveLength(4)
  })

  test('is not assumed after a write that failed for another reason', () => {
    const { watch, clock } = open()
    watch.failed(['2'], DOWN)
    watch.failed(['2'], new TidemarkError('PLAYS_TOO_MANY', 'too many'))
    expect([watch.isOpen(), clock.pending()]).toEqual([false, 0])
  })

  test('is known to a process without writes after its own check', async () => {
    const { wrong, watch, pass, told, back } = open(false)
    watch.start()
    await pass(1_000)
    expect(watch.isRefusing('2')).toBe(false)
    wrong.set(undefined, FULL)
    await pass(1_000)
    expect([watch.isRefusing('2'), watch.isRefusing('3')]).toEqual([true, true])
    // Its own refused write changes nothing.
    watch.failed(['2'], FULL)
    wrong.clear()
    await pass(1_000)
    expect([watch.isRefusing('2'), told, back]).toEqual([false, [FULL], [undefined]])
  })

  test('is not assumed for the whole store because a part is unavailable, but is if the whole store is', async () => {
    const { wrong, watch, pass } = open()
    watch.start()
    wrong.set(undefined, new PartOutage(DOWN, (viewer) => viewer === '2'))
    await pass(2_000)
    expect(watch.isOpen()).toBe(false)
    wrong.set(undefined, DOWN)
    await pass(1_000)
    expect(watch.isRefusing('3')).toBe(true)
  })

  test('refuses the viewers of its full part alone, if its own check finds that part full', async () => {
    const { wrong, watch, pass, told, back } = open()
    watch.start()
    const full = new PartFull(FULL, new Set([1]))
    wrong.set(undefined, full).set(1, full)
    await pass(3_000)
    expect([watch.isRefusing('2'), watch.isRefusing('3'), watch.isOpen(), watch.opened()]).toEqual([false, true, true, 1])
    wrong.clear()
    await pass(1_000)
    expect([watch.isRefusing('3'), watch.isOpen(), told, back]).toEqual([false, false, [full], [1]])
  })

  test('refuses none of its other viewers after a write that names the full part', () => {
    const { watch } = open()
    watch.failed(['2', '3'], new PartFull(FULL, new Set([0])))
    watch.failed([], new PartFull(FULL, new Set([0])))
    expect([watch.isRefusing('2'), watch.isRefusing('3')]).toEqual([true, false])
    watch.stop()
  })

  test('that was refusing as a whole accepts the writes of all parts that are not full', async () => {
    const { wrong, watch, pass, back } = open()
    watch.start()
    wrong.set(undefined, DOWN)
    await pass(1_000)
    expect(watch.isRefusing('2')).toBe(true)
    const full = new PartFull(FULL, new Set([1]))
    wrong.set(undefined, full).set(1, full)
    await pass(2_000)
    expect([watch.isRefusing('2'), watch.isRefusing('3'), back]).toEqual([false, true, [undefined]])
    watch.stop()
  })

  test('is not checked any more after a stop', async () => {
    const { watch, clock, asked, pass } = open()
    watch.start()
    watch.failed(['2'], FULL)
    await pass(1_000)
    watch.stop()
    const before = asked.length
    await pass(3_000)
    expect([asked.length, clock.pending()]).toEqual([before, 0])
  })
})
