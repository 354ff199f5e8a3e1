/**
 * The rate limits of a process, which a live version may change, set or remove. After a change all windows begin again, and callers that
 * waited may ask again. A version that leaves the limits as they are keeps the windows.
 */
import { systemClock } from '../../core/clock.ts'
import { limitsInForce } from '../../gateway/limits/limits-in-force.ts'
import { openPreparingLimit, type PreparingLimit } from '../../gateway/limits/preparing-limit.ts'
import { makeRateLimits, type RateLimits } from '../../gateway/limits/rate-limits.ts'
import type { LimitLog } from '../../gateway/limits/waiting-callers.ts'
import type { LiveConfig } from './live-config.ts'

const FREE = { spent() {} }

export async function openLiveLimits(
  { config, onChange }: LiveConfig,
  log: LimitLog,
): Promise<{ limits: RateLimits; preparing: PreparingLimit; close(): void }> {
  const openCountingStore =
    config.stores.redis === undefined ? () => undefined : (await import('../stores/distributed/counting.ts')).openCountingStore
  // Opened with the first limit that all processes count together, and kept.
  let counting = openCountingStore(config)
  let rates = makeRateLimits(limitsInForce(config), counting, log)
  let preparing = openPreparingLimit(config, systemClock)
  const unfollow = onChange(
    ({ limits }) => limits,
    () => {
      counting ??= openCountingStore(config)
      const next = makeRateLimits(limitsInForce(config), counting, log)
      preparing = openPreparingLimit(config, systemClock)
      rates = next
    },
  )
  return {
    limits: {
      isOff: () => rates === undefined,
      waiting: (caller, claims) => rates?.waiting(caller, claims),
      spend: (caller, cost) => rates?.spend(caller, cost),
      refuse: (caller) => rates?.refuse(caller),
    },
    preparing: { take: (caller, length) => preparing?.take(caller, length) ?? FREE },
    /** Closes the counters of rate limits. */
    close() {
      unfollow()
      counting?.close()
    },
  }
}
