import { expect, test } from 'vitest'
import { makeWorker, startWorker } from '../../core/worker.ts'
import { makeSteppedClock } from '../../harness/stepped-clock.ts'

const never = () => expect.unreachable('no error was expected')
const settle = () => new Promise((resolve) => setImmediate(resolve))

test('rounds run one at a time, and a wake during a round brings exactly one more', async () => {
  let underWay = 0
  let rounds = 0
  let finish = () => {}
  const round = () => {
    expect(++underWay).toBe(1)
    rounds++
    return new Promise<void>((resolve) => (finish = resolve)).finally(() => underWay--)
  }
  const worker = makeWorker(makeSteppedClock(), round, () => undefined, never)
  const woken = worker.wake()
  void worker.wake()
  void worker.wake()
  finish()
  await settle()
  expect([rounds, worker.isBusy()]).toEqual([2, true])
  finish()
  await woken
  expect([rounds, worker.isBusy()]).toEqual([2, false])
})

test('a round that fails is reported, and the next one comes after the same interval', async () => {
  const clock = makeSteppedClock()
  const [errors, times]: [unknown[], number[]] = [[], []]
  const began = clock.now()
  const round = () => {
    times.push(clock.now() - began)
    return Promise.reject(new Error('down'))
  }
  const worker = startWorker(clock, 100, round, (error) => errors.push(error))
  for (let step = 0; step < 25; step++) {
    clock.advance(10)
    await settle()
  }
  expect(times).toEqual([100, 200])
  expect(errors).toHaveLength(2)
  await worker.stop()
})

test('an interval that changes holds after the next round', async () => {
  const clock = makeSteppedClock()
  const times: number[] = []
  const began = clock.now()
  let everyMs = 100
  const worker = startWorker(
    clock,
    () => everyMs,
    () => Promise.resolve(times.push(clock.now() - began)),
    never,
  )
  everyMs = 30
  for (let step = 0; step < 18; step++) {
    clock.advance(10)
    await settle()
  }
  expect(times).toEqual([100, 130, 160])
  await worker.stop()
})

test('stopping waits for the round under way and signals it, and leaves no timer', async () => {
  const clock = makeSteppedClock()
  const seen: boolean[] = []
  let finish = () => {}
  const worker = startWorker(
    clock,
    100,
    async (mayGoOn) => {
      await new Promise<void>((resolve) => (finish = resolve))
      seen.push(mayGoOn())
    },
    never,
  )
  clock.advance(100)
  let isStopped = false
  const stopping = worker.stop().then(() => (isStopped = true))
  await settle()
  expect(isStopped).toBe(false)
  finish()
  await stopping
  expect(seen).toEqual([false])
  await worker.wake()
  clock.advance(1_000)
  await settle()
  expect(seen).toEqual([false])
})
