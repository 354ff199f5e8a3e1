/** Spends the cost of a request in all quotas of its caller or in none of them. The quotas are counted in this process or in Redis. */
import type { Clock } from '../../core/clock.ts'
import type { Quota } from './quotas.ts'
import type { SharedRefusals } from './refusals.ts'
import type { LimitLog, Refused, WaitingCallers } from './waiting-callers.ts'

/** Spends the cost in all quotas, or refuses and spends nothing. */
export type Spend = (quotas: readonly Quota[], cost: number) => Promise<Refused | undefined> | Refused | undefined

/** Counts in this process, and answers at once. */
export function makeLocalSpend(waiting: WaitingCallers, clock: Clock): Spend {
  return (quotas, cost) => {
    const at = clock.now()
    let refused: Refused | undefined
    const spent: Quota[] = []
    for (const quota of quotas) {
      const waitMs = quota.window.local.spend(quota.key, cost, at)
      if (waitMs > 0) refused = waiting.refuse(quota, waitMs, false)
      else spent.push(quota)
    }
    // A refusal by one window is not spent in the others. Otherwise a full window of a client would use up its users' windows.
    if (refused !== undefined) for (const { window, key } of spent) window.local.giveBack(key, cost, at)
    return refused
  }
}

/** Counts in Redis. It never rejects. `refusals`: absent if blocks are not shared. */
export function makeSharedSpend(waiting: WaitingCallers, refusals: SharedRefusals | undefined, log: LimitLog, clock: Clock): Spend {
  async function spendIn(quota: Quota, cost: number, at: number): Promise<Refused | undefined> {
    const { key, window, canBeBlocked } = quota
    const blocking = canBeBlocked ? (refusals?.blockedFor(key) ?? 0) : 0
    const [waitMs, blockedMs] = await Promise.all([(window.shared ?? window.local).spend(key, cost, at), blocking])
    const retryAfterMs = Math.max(waitMs, blockedMs)
    return retryAfterMs === 0 ? undefined : waiting.refuse(quota, retryAfterMs, blockedMs > 0)
  }

  async function giveBack(quotas: readonly Quota[], cost: number, at: number): Promise<void> {
    await Promise.all(quotas.map(async ({ window, key }) => (window.shared ?? window.local).giveBack(key, cost, at))).catch(
      (error: unknown) => log.warn({ err: error }, 'points could not be given back after a refusal'),
    )
  }

  return async (quotas, cost) => {
    const at = clock.now()
    try {
      const refusals = await Promise.all(quotas.map((quota) => spendIn(quota, cost, at)))
      const refused = refusals.find((each) => each !== undefined)
      if (refused === undefined) return undefined
      const spent = quotas.filter((_quota, index) => refusals[index] === undefined)
      await giveBack(spent, cost, at)
      return refused
    } catch (error) {
      // A failure of the counting must not fail requests.
      log.warn({ err: error }, 'rate limits could not be counted, so the request was admitted')
      return undefined
    }
  }
}
