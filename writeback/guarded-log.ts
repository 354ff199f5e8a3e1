/** The log behind its breaker. */
import type { Log } from './log.ts'
import type { Breaker } from '../core/outage/breaker.ts'

export function guardLog(log: Log, { run }: Breaker): Log {
  const { readRewards } = log
  return {
    ...log,
    appendFlushes: (messages) => run(() => log.appendFlushes(messages)),
    appendRewards: (events) => run(() => log.appendRewards(events)),
    ...(readRewards && { readRewards: (after, limit) => run(() => readRewards(after, limit)) }),
  }
}
