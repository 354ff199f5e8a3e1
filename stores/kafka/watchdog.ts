/**
 * Detects a hanging kafkajs consumer: after trouble with a broker, it may neither fetch nor crash. A working consumer gives one of two
 * signs every few seconds: a fetch returns, or a heartbeat is answered (during long batches only that). A fetch that never returns also
 * counts as a hang, since the fetches of other brokers go on beside it.
 */
import type { Consumer } from 'kafkajs'
import type { Clock, Timer } from '../../core/clock.ts'

export type Watchdog = {
  /** Resolves with the missing sign when the consumer hangs. */
  hung: Promise<Error>
  stop(): void
}

export function watchLife(consumer: Pick<Consumer, 'on' | 'events'>, clock: Clock, hungAfterMs: number): Watchdog {
  const { FETCH_START, FETCH, HEARTBEAT, GROUP_JOIN, REBALANCING } = consumer.events
  const fetchesSince = new Map<string, number>()
  let lastSign = clock.now()
  const hung = Promise.withResolvers<Error>()
  let timer: Timer = clock.after(hungAfterMs / 4, look)

  consumer.on(FETCH_START, ({ payload }) => {
    fetchesSince.set(String(payload.nodeId), clock.now())
  })
  consumer.on(FETCH, ({ payload }) => {
    fetchesSince.delete(String(payload.nodeId))
    lastSign = clock.now()
  })
  consumer.on(HEARTBEAT, () => {
    lastSign = clock.now()
  })
  for (const event of [GROUP_JOIN, REBALANCING] as const) {
    consumer.on(event, () => {
      fetchesSince.clear()
      lastSign = clock.now()
    })
  }

  function look(): void {
    const now = clock.now()
    const stuck = [...fetchesSince].find(([, since]) => now - since > hungAfterMs)
    if (stuck !== undefined) hung.resolve(new Error(`a fetch from broker ${stuck[0]} has not returned for ${now - stuck[1]} ms`))
    else if (now - lastSign > hungAfterMs) hung.resolve(new Error(`no fetch and no heartbeat for ${now - lastSign} ms`))
    else timer = clock.after(hungAfterMs / 4, look)
  }

  return { hung: hung.promise, stop: () => timer.cancel() }
}
