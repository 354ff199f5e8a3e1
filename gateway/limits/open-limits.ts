/**
 * Limits open connections (WebSockets and event streams) and the total cost of their subscriptions: per address, per viewer and per
 * process. A rate limit counts requests over time. A connection costs memory until it ends, so it needs a count.
 *
 * Anonymous connections may take only half of the process, so that clients without a token cannot lock out clients with a token. A service
 * counts in the process alone, because its viewers share its address and its token. Addresses of many callers (`sharedAddresses`) have no
 * limit of their own. A /48 of IPv6 limits clients without a token only: a mobile carrier gives each phone a /64 of the same /48.
 *
 * A WebSocket opens before its client is known, by `connection_init`. If the process is full, the oldest silent WebSocket is cut for the
 * new connection. A WebSocket whose token is being verified is cut only if none is silent. Unidentified WebSockets of a /48 are counted
 * apart from its anonymous clients. If they are too many, the oldest of them is cut for the new one.
 *
 * Counts exist only for open connections, so the limits bound this memory.
 */
import type { Clock } from '../../core/clock.ts'
import { TidemarkError } from '../../core/errors.ts'
import { addressGroup, addressSite, makeAddressList, SITE_SHARE } from '../request/addresses.ts'
import { once } from '../../core/once.ts'
import { makeOpenCost } from './open-cost.ts'
import { isService } from '../../core/viewer.ts'
import type { Viewer } from '../identity/viewer.ts'

type Bounds = { readonly address: number; readonly viewer: number; readonly process: number }
export type OpenLimitOptions = {
  readonly openConnections: Bounds
  readonly openCost: Bounds
  /** Addresses and ranges shared by many callers. Default: empty. */
  readonly sharedAddresses?: readonly string[]
}

/** An open connection. */
export type OpenConnection = {
  /** Called when the client has sent its credentials: until the viewer is known, silent connections are cut first. */
  verify(): void
  /** Called when the viewer is known. Returns an error if there is no room: the connection must then be closed. */
  identify(viewer: Viewer): TidemarkError | undefined
  /**
   * Takes room for a subscription and returns the function that releases it; calling it again has no effect. Returns an error if there is
   * no room, and then takes nothing.
   */
  take(cost: number): (() => void) | TidemarkError
  /** Costs stay taken until released. Releasing again has no effect. */
  close(): void
}

/**
 * A client whose viewer is known, and the cost of the subscription that it opens at once. Or an unidentified client, whose connection `cut`
 * ends to make room.
 */
export type OpenClient = { readonly viewer: Viewer; readonly cost?: number } | { readonly cut: () => void }

export type OpenLimits = {
  /**
   * `ownCostMax`: the limit for the subscriptions of this connection. Returns an error if there is no room for the connection or its cost,
   * and then cuts no other. The cost is not taken yet.
   */
  connect(address: string | undefined, client: OpenClient, ownCostMax?: number): OpenConnection | TidemarkError
  figures(): { connections: number; cost: number; refused: number }
}

export type OpenLimitLog = { warn(fields: object, message: string): void }

/** Functions that cut unidentified connections, the oldest first. */
type Cuttable = { readonly silent: Set<() => void>; readonly verifying: Set<() => void> }

/** Open connections and cost of one address, of one viewer, or of the process. */
type Place = {
  readonly key: string | undefined
  readonly who: string
  connections: number
  cost: number
  max: { connections: number; cost: number }
  /** Absent: a new connection is refused if the place is full. */
  readonly cuttable: Cuttable | undefined
}

const ANONYMOUS_SHARE = 0.5
const WARN_EVERY_MS = 60_000
export const UNLIMITED: OpenLimitOptions = {
  openConnections: { address: Infinity, viewer: Infinity, process: Infinity },
  openCost: { address: Infinity, viewer: Infinity, process: Infinity },
}

export function makeOpenLimits(
  { openConnections, openCost, sharedAddresses = [] }: OpenLimitOptions,
  clock: Clock,
  log: OpenLimitLog,
): OpenLimits {
  const places = new Map<string, Place>()
  const isShared = makeAddressList(sharedAddresses, 'limits.sharedAddresses')
  const all = makePlace(undefined, 'this process', openConnections.process, openCost.process, makeCuttable())
  const anonymous = makePlace(
    undefined,
    'clients without a token',
    openConnections.process * ANONYMOUS_SHARE,
    openCost.process * ANONYMOUS_SHARE,
  )
  let refused = 0
  let refusedBefore = 0
  let warnedAt = -Infinity

  function placeOf(kind: 'address' | 'viewer', name: string, share = 1, cuttable?: Cuttable): Place {
    const key = `${kind}:${name}`
    const known = places.get(key)
    if (known !== undefined) return known
    const place = makePlace(key, `this ${kind}`, openConnections[kind] * share, openCost[kind] * share, cuttable)
    places.set(key, place)
    return place
  }

  /** The places where a connection counts, the widest first. */
  function placesOf(address: string | undefined, client: OpenClient): Place[] {
    const isIdentified = 'viewer' in client
    const viewer = isIdentified ? client.viewer : undefined
    if (viewer !== undefined && isService(viewer)) return [all]
    const found = [all]
    if (isIdentified) found.push(viewer === undefined ? anonymous : placeOf('viewer', viewer.id))
    if (address === undefined || isShared(address)) return found
    const site = addressSite(address)
    if (site !== undefined && viewer === undefined)
      found.push(
        isIdentified ? placeOf('address', site, SITE_SHARE) : placeOf('address', `unidentified ${site}`, SITE_SHARE, makeCuttable()),
      )
    found.push(placeOf('address', addressGroup(address)))
    return found
  }

  function add(place: Place, connections: number, cost: number): void {
    place.connections += connections
    place.cost += cost
    if (place.connections !== 0 || place.cost !== 0 || place.key === undefined) return
    // A connection that closed while its operation was prepared still takes and releases cost. Its place may have a successor by then.
    if (places.get(place.key) === place) places.delete(place.key)
  }

  function forgetIfEmpty(place: Place): void {
    add(place, 0, 0)
  }

  function refuse(error: TidemarkError): TidemarkError {
    refused += 1
    const now = clock.now()
    if (now - warnedAt >= WARN_EVERY_MS) {
      warnedAt = now
      const hint = 'WebSockets or event streams were refused; behind a proxy set server.trustProxy, or all clients count as one address'
      log.warn({ reason: error.message, refused: refused - refusedBefore }, hint)
      refusedBefore = refused
    }
    return error
  }

  function connect(address: string | undefined, client: OpenClient, ownCostMax = Infinity): OpenConnection | TidemarkError {
    let own = placesOf(address, client)
    const full = findFull(own)
    const cutOldest = oldestOf(full)
    if (full !== undefined && cutOldest === undefined) {
      own.forEach(forgetIfEmpty)
      return refuse(connectionsTooMany(full))
    }
    const cost = 'viewer' in client ? (client.cost ?? 0) : 0
    const costly = findCostly(own, cost)
    if (costly !== undefined) {
      own.forEach(forgetIfEmpty)
      return refuse(subscriptionsTooMany(costly, cost))
    }
    // The cut comes last. Otherwise it could empty, and so remove, a place where the new connection counts.
    for (const place of own) add(place, 1, 0)
    if (full !== undefined) refuse(connectionsTooMany(full))
    cutOldest?.()
    const ownCost = makeOpenCost(ownCostMax)
    let isOpen = true

    function close(): void {
      if (isOpen) for (const place of own) leave(place)
      isOpen = false
    }
    function leave(place: Place): void {
      place.cuttable?.silent.delete(cutNow)
      place.cuttable?.verifying.delete(cutNow)
      add(place, -1, 0)
    }
    function cutNow(): void {
      close()
      if ('cut' in client) client.cut()
    }
    if ('cut' in client) for (const place of own) place.cuttable?.silent.add(cutNow)

    return {
      verify() {
        for (const { cuttable } of own) if (cuttable?.silent.delete(cutNow)) cuttable.verifying.add(cutNow)
      },
      identify(viewer) {
        if (!isOpen) return undefined
        const next = placesOf(address, { viewer })
        const further = next.filter((place) => !own.includes(place))
        const full = findFull(further)
        if (full !== undefined) {
          further.forEach(forgetIfEmpty)
          return refuse(connectionsTooMany(full))
        }
        for (const place of next) add(place, 1, 0)
        own.forEach(leave)
        own = next
        return undefined
      },
      take(cost) {
        const giveBack = ownCost.take(cost)
        if (giveBack === undefined) {
          const sentence = `open subscriptions of this socket may cost ${ownCostMax} points together, and this one exceeds the limit: complete some first, or follow fewer ids`
          return new TidemarkError('SUBSCRIPTIONS_TOO_MANY', sentence)
        }
        const taken = own
        const full = findCostly(taken, cost)
        if (full !== undefined) {
          giveBack()
          return refuse(subscriptionsTooMany(full, cost))
        }
        for (const place of taken) add(place, 0, cost)
        return once(() => {
          for (const place of taken) add(place, 0, -cost)
          giveBack()
        })
      },
      close,
    }
  }

  return { connect, figures: () => ({ connections: all.connections, cost: all.cost, refused }) }
}

function makePlace(key: string | undefined, who: string, connections: number, cost: number, cuttable?: Cuttable): Place {
  return { key, who, connections: 0, cost: 0, max: { connections, cost }, cuttable }
}

function makeCuttable(): Cuttable {
  return { silent: new Set(), verifying: new Set() }
}

/** Returns the function that makes room in a full place. Undefined if no connection of it may be cut. */
function oldestOf(place: Place | undefined): (() => void) | undefined {
  for (const cut of place?.cuttable?.silent ?? []) return cut
  for (const cut of place?.cuttable?.verifying ?? []) return cut
  return undefined
}

/** A full address is found before a full process: its connections make no room. */
function findFull(places: readonly Place[]): Place | undefined {
  return places.findLast(({ connections, max }) => connections >= max.connections)
}

/** The place where a subscription of this cost has no room. */
function findCostly(places: readonly Place[], cost: number): Place | undefined {
  return places.find((place) => place.cost + cost > place.max.cost)
}

function connectionsTooMany({ key, who, max }: Place): TidemarkError {
  if (key === undefined)
    return new TidemarkError('CAPACITY_REACHED', `${who} may have ${max.connections} connections open: try again later`)
  return new TidemarkError('CONNECTIONS_TOO_MANY', `${who} may have ${max.connections} connections open: close some first`)
}

function subscriptionsTooMany({ key, who, max }: Place, cost: number): TidemarkError {
  const sentence = `open subscriptions of ${who} may cost ${max.cost} points together, and this one costs ${cost}`
  if (key === undefined) return new TidemarkError('CAPACITY_REACHED', `${sentence}: try again later, or follow fewer ids`)
  return new TidemarkError('SUBSCRIPTIONS_TOO_MANY', `${sentence}: complete some first, or follow fewer ids`)
}
