import { EventEmitter } from 'node:events'
import type { Consumer } from 'kafkajs'
import { describe, expect, it } from 'vitest'
import { watchLife } from '../../../stores/kafka/watchdog.ts'
import type { Clock } from '../../../core/clock.ts'

/** The events of a consumer, without a consumer. */
function makeEvents() {
  const emitter = new EventEmitter()
  const names = ['FETCH_START', 'FETCH', 'HEARTBEAT', 'GROUP_JOIN', 'REBALANCING'] as const
  const events = Object.fromEntries(names.map((name) => [name, name])) as unknown as Consumer['events']
  const on = ((event: string, listener: (event: unknown) => void) => void emitter.on(event, listener)) as unknown as Consumer['on']
  return { consumer: { on, events }, emit: (name: (typeof names)[number], nodeId = '1') => emitter.emit(name, { payload: { nodeId } }) }
}

function makeSteppedClock(): Clock & { step(ms: number): void } {
  let now = 0
  let tasks: { at: number; task: () => void }[] = []
  return {
    now: () => now,
    after(delayMs, task) {
      const entry = { at: now + delayMs, task }
      tasks.push(entry)
      return { cancel: () => void (tasks = tasks.filter((other) => other !== entry)) }
    },
    step(ms) {
      for (const end = now + ms; now < end; now += 10) {
        const due = tasks.filter((entry) => entry.at <= now)
        tasks = tasks.filter((entry) => entry.at > now)
        for (const { task } of due) task()
      }
    },
  }
}

async function isHung(hung: Promise<Error>): Promise<string | undefined> {
  return Promise.race([hung.then((error) => error.message), new Promise<undefined>((resolve) => setImmediate(() => resolve(undefined)))])
}

describe('the watchdog of a consumer', () => {
  it('a consumer that fetches is alive', async () => {
    const [clock, { consumer, emit }] = [makeSteppedClock(), makeEvents()]
    const watchdog = watchLife(consumer, clock, 1_000)
    for (let i = 0; i < 50; i++) {
      emit('FETCH_START')
      clock.step(400)
      emit('FETCH')
    }
    expect(await isHung(watchdog.hung)).toBeUndefined()
    watchdog.stop()
  })

  it('heartbeats alone are a sign of life, because a batch may take long', async () => {
    const [clock, { consumer, emit }] = [makeSteppedClock(), makeEvents()]
    const watchdog = watchLife(consumer, clock, 1_000)
    for (let i = 0; i < 50; i++) {
      emit('HEARTBEAT')
      clock.step(400)
    }
    expect(await isHung(watchdog.hung)).toBeUndefined()
    watchdog.stop()
  })

  it('silence is detected', async () => {
    const [clock, { consumer, emit }] = [makeSteppedClock(), makeEvents()]
    const watchdog = watchLife(consumer, clock, 1_000)
    emit('GROUP_JOIN')
    clock.step(1_600)
    expect(await isHung(watchdog.hung)).toMatch(/no fetch and no heartbeat/)
  })

  it('a fetch from one broker that never returns is detected while others return', async () => {
    const [clock, { consumer, emit }] = [makeSteppedClock(), makeEvents()]
    const watchdog = watchLife(consumer, clock, 1_000)
    emit('FETCH_START', '2')
    for (let i = 0; i < 10; i++) {
      emit('FETCH_START', '1')
      clock.step(200)
      emit('FETCH', '1')
    }
    expect(await isHung(watchdog.hung)).toMatch(/a fetch from broker 2/)
  })
})
