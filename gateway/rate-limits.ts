/**
 * How much may be asked in a time, in points of operation cost: per viewer, per client program and per address, each in a
 * window that slides (sliding-window.ts). Counted in Redis where the hot store is there, so that all processes count
 * together, and in memory where it is not; while Redis is down each process counts for itself.
 *
 * Who is refused is remembered here until his time comes: until then he is refused without asking anybody, before his
 * operation is even parsed. Every refusal counts towards `abuse`; who has too many of them is blocked, wherever he goes,
 * as the viewer and as the address he is. A client's name is never blocked: anybody can use it.
 */
import { RateLimiterMemory, RateLimiterRedis, RateLimiterRes, type RateLimiterAbstract } from 'rate-limiter-flexible'
import { GraphQLError } from 'graphql'
import { systemClock, type Clock } from '../core/clock.ts'
import type { ErrorCode } from '../core/errors.ts'
import { addressGroup } from './addresses.ts'
import { makeBoundedNames } from './bounded-names.ts'
import type { Caller } from './caller.ts'
import { makeMemory } from './identity/memory.ts'
import { makeSlidingWindow, type Rate, type SlidingWindow } from './sliding-window.ts'

export type RateLimitOptions = {
  readonly viewer?: Rate | undefined
  readonly client?: Rate | undefined
  readonly address?: Rate | undefined
  readonly abuse?: { readonly refusals: number; readonly perSeconds: number; readonly blockSeconds: number } | undefined
}

/** A connection to Redis as the limiter needs it; ioredis' clients are. */
export type CountingStore = { readonly client: object; readonly prefix: string }

export type LimitLog = { warn(fields: object, message: string): void }

/** Why not, and for how long. */
export type Refused = { readonly who: string; readonly retryAfterMs: number; readonly blocked: boolean }

export type RateLimits = {
  /** Is this caller waiting already? Asks nobody. */
  waiting(caller: Caller): Refused | undefined
  /** Spends the cost at each of the caller's places, or refuses and spends at none. Never rejects. */
  spend(caller: Caller, cost: number): Promise<Refused | undefined>
  /** Somebody came whose credentials were wrong: one point, and one refusal. Nobody waits for it. */
  refuse(caller: Caller): void
}

/** As a client sees it; `retryAfterMs` becomes the header of the same meaning over HTTP. */
export function rateLimitedError({ who, retryAfterMs, blocked }: Refused): GraphQLError {
  const seconds = Math.ceil(retryAfterMs / 1_000)
  const reason = blocked ? `too many refused requests: this ${who} is blocked` : `this ${who} asked for too much in too short a time`
  return new GraphQLError(`${reason}; ask again in ${seconds} s, and not before`, {
    extensions: { code: 'RATE_LIMITED' satisfies ErrorCode, retryAfterMs: Math.ceil(retryAfterMs) },
  })
}

type Kind = 'viewer' | 'client' | 'address'
type Place = { readonly kind: Kind; readonly key: string }

const REMEMBERED_MAX = 10_000
/** Client names come from clients: further ones share one count, so that nobody fills the memory by inventing them. */
const CLIENTS_MAX = 1_000

/** Undefined if nothing is limited: then no request pays for it. */
export function makeRateLimits(
  options: RateLimitOptions,
  store: CountingStore | undefined,
  log: LimitLog,
  clock: Clock = systemClock,
): RateLimits | undefined {
  const kinds = (['viewer', 'client', 'address'] as const).filter((kind) => options[kind] !== undefined)
  if (kinds.length === 0) return undefined
  const windows = new Map<Kind, SlidingWindow>()
  for (const kind of kinds) {
    const rate = options[kind]
    if (rate !== undefined)
      windows.set(
        kind,
        makeSlidingWindow(rate, (seconds) => counter(store, kind, rate.points, seconds, 0), clock),
      )
  }
  const { abuse } = options
  const refusals = abuse === undefined ? undefined : counter(store, 'abuse', abuse.refusals, abuse.perSeconds, abuse.blockSeconds)
  const until = makeMemory<{ at: number; blocked: boolean }>(REMEMBERED_MAX)
  const boundedName = makeBoundedNames(CLIENTS_MAX, 'others')

  return { waiting, spend, refuse }

  function placesOf({ viewer, client, address }: Caller): Place[] {
    const places: Place[] = []
    // A service that acts for viewers is counted as itself, or it could use up what is theirs.
    if (viewer !== undefined && windows.has('viewer')) places.push({ kind: 'viewer', key: `viewer:${viewer.actor ?? viewer.id}` })
    if (client !== undefined && windows.has('client')) places.push({ kind: 'client', key: `client:${boundedName(client)}` })
    if (address !== undefined && windows.has('address')) places.push({ kind: 'address', key: `address:${addressGroup(address)}` })
    return places
  }

  function waiting(caller: Caller): Refused | undefined {
    const now = clock.now()
    for (const { kind, key } of placesOf(caller)) {
      const known = until.get(key)
      if (known === undefined || known.at <= now) continue
      if (!known.blocked) note(kind, key)
      return { who: kind, retryAfterMs: known.at - now, blocked: known.blocked }
    }
    return undefined
  }

  async function spend(caller: Caller, cost: number): Promise<Refused | undefined> {
    const places = placesOf(caller)
    const at = clock.now()
    try {
      const refusals = await Promise.all(places.map((place) => spendAt(place, cost, at)))
      const refused = refusals.find((each) => each !== undefined)
      // What one place refuses is not spent at the others, or a client's full window would use up its users'.
      if (refused !== undefined)
        await giveBack(
          places.filter((_place, index) => refusals[index] === undefined),
          cost,
          at,
        )
      return refused
    } catch (error) {
      // Counting is a courtesy to all; that it fails must not fail them.
      log.warn({ err: error }, 'rate limits could not be counted; the request was let in')
      return undefined
    }
  }

  async function giveBack(places: readonly Place[], cost: number, at: number): Promise<void> {
    await Promise.all(places.map(async ({ kind, key }) => windows.get(kind)?.giveBack(key, cost, at))).catch((error: unknown) =>
      log.warn({ err: error }, 'points could not be given back after a refusal'),
    )
  }

  function refuse(caller: Caller): void {
    for (const { kind, key } of placesOf(caller)) note(kind, key)
    void spend(caller, 1)
  }

  async function spendAt({ kind, key }: Place, cost: number, at: number): Promise<Refused | undefined> {
    const [waitMs = 0, blockedMs] = await Promise.all([windows.get(kind)?.spend(key, cost, at), blockedFor(kind, key)])
    const retryAfterMs = Math.max(waitMs, blockedMs)
    if (retryAfterMs === 0) return undefined
    until.set(key, { at: clock.now() + retryAfterMs, blocked: blockedMs > 0 })
    if (blockedMs === 0) note(kind, key)
    return { who: kind, retryAfterMs, blocked: blockedMs > 0 }
  }

  /** Blocked by any process, for how much longer? */
  async function blockedFor(kind: Kind, key: string): Promise<number> {
    if (refusals === undefined || abuse === undefined || kind === 'client') return 0
    const counted = await refusals.get(key)
    return counted !== null && counted.consumedPoints > abuse.refusals ? counted.msBeforeNext : 0
  }

  /** Counts a refusal. Nobody waits for it. */
  function note(kind: Kind, key: string): void {
    if (refusals === undefined || kind === 'client') return
    refusals.consume(key, 1).catch((reason: unknown) => {
      if (reason instanceof RateLimiterRes) {
        const at = clock.now() + reason.msBeforeNext
        if (until.get(key)?.blocked !== true)
          log.warn({ kind, blockedMs: reason.msBeforeNext }, 'blocked for a time: too many refused requests')
        until.set(key, { at, blocked: true })
      } else log.warn({ err: reason }, 'a refusal could not be counted')
    })
  }
}

function counter(
  store: CountingStore | undefined,
  name: string,
  points: number,
  duration: number,
  blockDuration: number,
): RateLimiterAbstract {
  const shared = { points, duration, blockDuration, keyPrefix: `${store?.prefix ?? 'tm'}:limit:${name}` }
  const memory = new RateLimiterMemory(shared)
  if (store === undefined) return memory
  return new RateLimiterRedis({ ...shared, storeClient: store.client, rejectIfRedisNotReady: true, insuranceLimiter: memory })
}
