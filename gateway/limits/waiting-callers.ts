/**
 * Remembers refused callers until they may ask again, and blocked callers until their block ends. A request of such a caller is refused
 * without a call to Redis.
 */
import type { Clock } from '../../core/clock.ts'
import { makeMemory } from '../identity/memory.ts'
import type { Caller } from '../request/caller.ts'
import type { Quota, QuotaKind, Quotas } from './quotas.ts'
import { CALLERS_REMEMBERED_MAX, type Refusals } from './refusals.ts'

export type LimitLog = { warn(fields: object, message: string): void }

/** The reason of a refusal, and the time to wait. */
export type Refused = { readonly who: string; readonly retryAfterMs: number; readonly blocked: boolean }

export type WaitingCallers = {
  /** Returns the refusal if this caller is still waiting, and counts it. `claims`: see quotas.ts. */
  refusalOf(caller: Caller, claims: boolean): Refused | undefined
  /** Remembers that this quota was exceeded, and counts the refusal unless it is due to a block. */
  refuse(quota: Quota, retryAfterMs: number, blocked: boolean): Refused
  /** Counts a refusal towards a block, in the background. */
  countRefusal(quota: Quota): void
}

const NAMES: Readonly<Record<QuotaKind, string>> = {
  viewer: 'viewer',
  service: 'service',
  client: 'client',
  address: 'address',
  anonymous: 'anonymous address',
}

const ANONYMOUS_REFUSED =
  'an address exceeded the limit of callers without a token: if it is a proxy, set server.trustProxy; if it is shared by many callers, add it to limits.sharedAddresses'

/** `refusals`: absent if no caller is blocked for refused requests. */
export function makeWaitingCallers(quotas: Quotas, refusals: Refusals | undefined, log: LimitLog, clock: Clock): WaitingCallers {
  const until = makeMemory<{ at: number; blocked: boolean }>(CALLERS_REMEMBERED_MAX)
  /** The latest end of those refusals. It is nearly always past, and then no lookup happens. */
  let lastUntil = 0

  function waitUntil(key: string, at: number, blocked: boolean): void {
    until.set(key, { at, blocked })
    lastUntil = Math.max(lastUntil, at)
  }

  function block(kind: QuotaKind, key: string, blockedMs: number): void {
    if (blockedMs === 0) return
    if (until.get(key)?.blocked !== true) log.warn({ kind, blockedMs }, 'blocked for a time: too many refused requests')
    waitUntil(key, clock.now() + blockedMs, true)
  }

  function countRefusal({ kind, key, canBeBlocked }: Quota): void {
    if (refusals === undefined || !canBeBlocked) return
    if (refusals.shared === undefined) return block(kind, key, refusals.countLocally(key))
    refusals.shared.count(key).then(
      (blockedMs) => block(kind, key, blockedMs),
      (error: unknown) => log.warn({ err: error }, 'a refusal could not be counted'),
    )
  }

  return {
    refusalOf(caller, claims) {
      const now = clock.now()
      if (lastUntil <= now) return undefined
      for (const quota of quotas.of(caller, claims)) {
        const known = until.get(quota.key)
        if (known === undefined || known.at <= now) continue
        if (!known.blocked) countRefusal(quota)
        return { who: NAMES[quota.kind], retryAfterMs: known.at - now, blocked: known.blocked }
      }
      return undefined
    },
    refuse(quota, retryAfterMs, blocked) {
      const { kind, key } = quota
      waitUntil(key, clock.now() + retryAfterMs, blocked)
      if (!blocked) countRefusal(quota)
      if (kind === 'anonymous') log.warn({ kind }, ANONYMOUS_REFUSED)
      return { who: NAMES[kind], retryAfterMs, blocked }
    },
    countRefusal,
  }
}
