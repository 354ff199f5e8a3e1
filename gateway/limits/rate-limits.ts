/**
 * Rate limits in points of operation cost, each in a sliding window (sliding-window.ts): per viewer, per service, per client program, per
 * address, and per address of callers without a token. Each process counts the production defaults for itself, in memory, so that no
 * request waits. Configured limits are counted in Redis if the hot store is there, so that all processes count together. While Redis is
 * down, each process counts for itself.
 *
 * An IPv6 address counts as its /64, and its /48 has four times the limit: an attacker with a /48 has 65,536 /64s. A /48 is never blocked for
 * abuse, because it may be many customers of one carrier.
 *
 * A refused caller is remembered here until it may ask again. Until then its requests are refused before they are parsed, without a call
 * to Redis. Every refusal counts towards `abuse`: a viewer or an address with too many refusals is blocked for a time. A client's name is
 * never blocked, because anybody can send it.
 */
import { RateLimiterRedis, type RateLimiterAbstract } from 'rate-limiter-flexible'
import { GraphQLError } from 'graphql'
import { systemClock, type Clock } from '../../core/clock.ts'
import type { ErrorCode } from '../../core/errors.ts'
import { isService } from '../../core/viewer.ts'
import { addressGroup, addressSite, makeAddressList, SITE_SHARE } from '../request/addresses.ts'
import { makeBoundedNames } from './bounded-names.ts'
import type { Caller } from '../request/caller.ts'
import { makeMemory } from '../identity/memory.ts'
import { makeLocalRefusals, makeSharedRefusals, type AbuseRate } from './refusals.ts'
import { makeLocalWindow, makeSharedWindow, type LocalWindow, type Rate, type SharedWindow } from './sliding-window.ts'

const KINDS = ['viewer', 'service', 'client', 'address', 'anonymous'] as const
type Kind = (typeof KINDS)[number]

export type RateLimitOptions = {
  readonly viewer?: Rate | undefined
  /** Tokens of services. Absent: services count as viewers. */
  readonly service?: Rate | 'none' | undefined
  readonly client?: Rate | undefined
  readonly address?: Rate | undefined
  /** Callers without a token, by address. */
  readonly anonymous?: Rate | undefined
  readonly abuse?: AbuseRate | undefined
  /** Addresses and ranges shared by many callers: `anonymous` does not count them. */
  readonly sharedAddresses?: readonly string[]
  /** Kinds that each process counts for itself, even with Redis. */
  readonly perProcess?: readonly (Kind | 'abuse')[]
}

/** A connection to Redis as the limiter needs it; ioredis' clients are. */
export type CountingStore = { readonly client: object; readonly prefix: string }

export type LimitLog = { warn(fields: object, message: string): void }

/** Why not, and for how long. */
export type Refused = { readonly who: string; readonly retryAfterMs: number; readonly blocked: boolean }

export type RateLimits = {
  /**
   * Returns the refusal if this caller is still waiting. It makes no network call. `claims`: the request has credentials that are unchecked
   * yet.
   */
  waiting(caller: Caller, claims?: boolean): Refused | undefined
  /** Spends the cost in each of the caller's windows, or refuses and spends nothing. It never rejects and waits only for Redis. */
  spend(caller: Caller, cost: number): Promise<Refused | undefined> | Refused | undefined
  /** Charges wrong credentials: one point and one refusal. Callers do not wait for it. */
  refuse(caller: Caller): void
}

/** As a client sees it; `retryAfterMs` becomes the header of the same meaning over HTTP. */
export function rateLimitedError({ who, retryAfterMs, blocked }: Refused): GraphQLError {
  const seconds = Math.ceil(retryAfterMs / 1_000)
  const reason = blocked ? `too many refused requests: this ${who} is blocked` : `this ${who} asked for too much in too short a time`
  const advice = who === 'anonymous address' ? ', or send a token' : ''
  return new GraphQLError(`${reason}; ask again in ${seconds} s, and not before${advice}`, {
    extensions: { code: 'RATE_LIMITED' satisfies ErrorCode, retryAfterMs: Math.ceil(retryAfterMs) },
  })
}

/** Points per millisecond of parsing, planning and compiling, even if the operation fails: about the cost of objects. */
export const COST_PER_MS = 20

type Window = { readonly local: LocalWindow; readonly shared?: SharedWindow }
/** `canBeBlocked`: refusals in this window count towards `abuse`. */
type Place = { readonly kind: Kind; readonly key: string; readonly window: Window; readonly canBeBlocked: boolean }

const REMEMBERED_MAX = 10_000
/** Viewers and addresses in one local window: a few megabytes at most, however many an attacker has. */
const COUNTED_MAX = 20_000
/** Client names come from clients: further ones share one count, so that nobody fills the memory by inventing them. */
const CLIENTS_MAX = 1_000

/** Undefined if nothing is limited: then no request pays for it. */
export function makeRateLimits(
  options: RateLimitOptions,
  store: CountingStore | undefined,
  log: LimitLog,
  clock: Clock = systemClock,
): RateLimits | undefined {
  const { abuse, perProcess = [], service: services } = options
  const windows = new Map<Kind, Window>()
  /** The windows of /48s. */
  const siteWindows = new Map<Kind, Window>()
  for (const kind of KINDS) {
    const rate = options[kind]
    if (rate === undefined || rate === 'none') continue
    windows.set(kind, openWindow(kind, rate))
    if (kind === 'address' || kind === 'anonymous') siteWindows.set(kind, openWindow(kind, { ...rate, points: rate.points * SITE_SHARE }))
  }
  if (windows.size === 0) return undefined
  const localRefusals = abuse && makeLocalRefusals(abuse, REMEMBERED_MAX, clock)
  const sharedRefusals =
    abuse === undefined || localRefusals === undefined || store === undefined || perProcess.includes('abuse')
      ? undefined
      : makeSharedRefusals(counter(store, 'abuse', abuse.refusals, abuse.perSeconds, abuse.blockSeconds), abuse, localRefusals)
  const isLocal = sharedRefusals === undefined && [...windows.values()].every(({ shared }) => shared === undefined)
  const until = makeMemory<{ at: number; blocked: boolean }>(REMEMBERED_MAX)
  /** The latest end of those refusals. It is nearly always past, and then no lookup happens. */
  let lastUntil = 0
  const boundedName = makeBoundedNames(CLIENTS_MAX, 'others')
  const anonymousPlaces = rememberPlaces(options.sharedAddresses ?? [], (address) => placesAt('anonymous', address))

  return {
    waiting,
    spend: (caller, cost) => (isLocal ? spendHere(placesOf(caller), cost) : spendEverywhere(placesOf(caller), cost)),
    refuse(caller) {
      const places = placesOf(caller)
      places.forEach(note)
      void (isLocal ? spendHere(places, 1) : spendEverywhere(places, 1))
    },
  }

  function openWindow(kind: Kind, rate: Rate): Window {
    const local = makeLocalWindow(rate, COUNTED_MAX, clock)
    if (store === undefined || perProcess.includes(kind)) return { local }
    return { local, shared: makeSharedWindow(rate, (seconds) => counter(store, kind, rate.points, seconds, 0), clock, local) }
  }

  function placeOf(kind: Kind, name: string): Place[] {
    const window = windows.get(kind)
    return window === undefined ? [] : [{ kind, key: `${kind}:${name}`, window, canBeBlocked: kind !== 'client' }]
  }

  function placesAt(kind: Kind, address: string): Place[] {
    const window = siteWindows.get(kind)
    const site = addressSite(address)
    const ofSite = window === undefined || site === undefined ? [] : [{ kind, key: `${kind}:${site}`, window, canBeBlocked: false }]
    return [...placeOf(kind, addressGroup(address)), ...ofSite]
  }

  function placesOf({ viewer, client, address }: Caller, claims = false): Place[] {
    const places: Place[] = []
    if (viewer !== undefined) {
      const kind: Kind = services !== undefined && isService(viewer) ? 'service' : 'viewer'
      // A service that acts for viewers counts as itself. Otherwise it could use up their limits.
      places.push(...placeOf(kind, viewer.actor ?? viewer.id))
    }
    if (client !== undefined && windows.has('client')) places.push(...placeOf('client', boundedName(client)))
    if (address === undefined) return places
    if (windows.has('address')) places.push(...placesAt('address', address))
    if (viewer === undefined && !claims && windows.has('anonymous')) places.push(...anonymousPlaces(address))
    return places
  }

  function waiting(caller: Caller, claims = false): Refused | undefined {
    const now = clock.now()
    if (lastUntil <= now) return undefined
    for (const place of placesOf(caller, claims)) {
      const known = until.get(place.key)
      if (known === undefined || known.at <= now) continue
      if (!known.blocked) note(place)
      return { who: NAMES[place.kind], retryAfterMs: known.at - now, blocked: known.blocked }
    }
    return undefined
  }

  function spendHere(places: readonly Place[], cost: number): Refused | undefined {
    const at = clock.now()
    let refused: Refused | undefined
    const spent: Place[] = []
    for (const place of places) {
      const waitMs = place.window.local.spend(place.key, cost, at)
      if (waitMs > 0) refused = refusedAt(place, waitMs, false)
      else spent.push(place)
    }
    // A refusal by one window is not spent in the others. Otherwise a full window of a client would use up its users' windows.
    if (refused !== undefined) for (const { window, key } of spent) window.local.giveBack(key, cost, at)
    return refused
  }

  async function spendEverywhere(places: readonly Place[], cost: number): Promise<Refused | undefined> {
    const at = clock.now()
    try {
      const refusals = await Promise.all(places.map((place) => spendAt(place, cost, at)))
      const refused = refusals.find((each) => each !== undefined)
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
    await Promise.all(places.map(async ({ window, key }) => (window.shared ?? window.local).giveBack(key, cost, at))).catch(
      (error: unknown) => log.warn({ err: error }, 'points could not be given back after a refusal'),
    )
  }

  async function spendAt(place: Place, cost: number, at: number): Promise<Refused | undefined> {
    const { key, window, canBeBlocked } = place
    const blocking = canBeBlocked ? (sharedRefusals?.blockedFor(key) ?? 0) : 0
    const [waitMs, blockedMs] = await Promise.all([(window.shared ?? window.local).spend(key, cost, at), blocking])
    const retryAfterMs = Math.max(waitMs, blockedMs)
    return retryAfterMs === 0 ? undefined : refusedAt(place, retryAfterMs, blockedMs > 0)
  }

  function refusedAt(place: Place, retryAfterMs: number, blocked: boolean): Refused {
    const { kind, key } = place
    waitUntil(key, clock.now() + retryAfterMs, blocked)
    if (!blocked) note(place)
    if (kind === 'anonymous') log.warn({ kind }, ANONYMOUS_REFUSED)
    return { who: NAMES[kind], retryAfterMs, blocked }
  }

  /** Counts a refusal. Nobody waits for it. */
  function note({ kind, key, canBeBlocked }: Place): void {
    if (localRefusals === undefined || !canBeBlocked) return
    if (sharedRefusals === undefined) return blocked(kind, key, localRefusals(key))
    sharedRefusals.count(key).then(
      (blockedMs) => blocked(kind, key, blockedMs),
      (error: unknown) => log.warn({ err: error }, 'a refusal could not be counted'),
    )
  }

  function blocked(kind: Kind, key: string, blockedMs: number): void {
    if (blockedMs === 0) return
    if (until.get(key)?.blocked !== true) log.warn({ kind, blockedMs }, 'blocked for a time: too many refused requests')
    waitUntil(key, clock.now() + blockedMs, true)
  }

  function waitUntil(key: string, at: number, blocked: boolean): void {
    until.set(key, { at, blocked })
    lastUntil = Math.max(lastUntil, at)
  }
}

const NAMES: Readonly<Record<Kind, string>> = {
  viewer: 'viewer',
  service: 'service',
  client: 'client',
  address: 'address',
  anonymous: 'anonymous address',
}

const ANONYMOUS_REFUSED =
  'an address exceeded the limit of callers without a token: if it is a proxy, set server.trustProxy; if it is shared by many callers, add it to limits.sharedAddresses'

/** The places of an address; none of a shared address. Results are remembered, because checking a list of ranges takes longer. */
function rememberPlaces(sharedAddresses: readonly string[], placesAt: (address: string) => readonly Place[]) {
  const isShared = makeAddressList(sharedAddresses, 'limits.sharedAddresses')
  const known = makeMemory<readonly Place[]>(REMEMBERED_MAX)
  return (address: string): readonly Place[] => {
    const remembered = known.get(address)
    if (remembered !== undefined) return remembered
    const places = isShared(address) ? [] : placesAt(address)
    known.set(address, places)
    return places
  }
}

function counter(store: CountingStore, name: string, points: number, duration: number, blockDuration: number): RateLimiterAbstract {
  const keyPrefix = `${store.prefix}:limit:${name}`
  return new RateLimiterRedis({ points, duration, blockDuration, keyPrefix, storeClient: store.client, rejectIfRedisNotReady: true })
}
