/**
 * Limits open connections (WebSockets and event streams) and the total cost of their subscriptions: per address, per viewer and per
 * process. A rate limit counts requests over time. A connection costs memory until it ends, so it needs a count.
 *
 * Anonymous connections may take only half of the process, so that clients without a token cannot lock out clients with a token. A service
 * counts in the process alone, because its viewers share its address and its token. Addresses of many callers (`sharedAddresses`) have no
 * limit of their own.
 *
 * A WebSocket opens before its client is known, by `connection_init`. If the process is full, the oldest WebSocket without a known client
 * is cut for the new connection. A client that sends `connection_init` at once is not the oldest, even if thousands never send it.
 *
 * Counts exist only for open connections, so the limits bound this memory.
 */
import type { Clock } from '../../core/clock.ts'
import { TidemarkError } from '../../core/errors.ts'
import { addressGroup, addressSite, makeAddressList, SITE_SHARE } from '../addresses.ts'
import { makeOpenCost } from '../open-cost.ts'
import { isService } from '../../core/viewer.ts'
import type { Viewer } from '../viewer.ts'

type Bounds = { readonly address: number; readonly viewer: number; readonly process: number }
export type OpenLimitOptions = {
  readonly openConnections: Bounds
  readonly openCost: Bounds
  /** Addresses and ranges shared by many callers. Default: empty. */
  readonly sharedAddresses?: readonly string[]
}

/** An open connection. */
export type OpenConnection = {
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

export type OpenLimits = {
  /**
   * `ownCostMax`: the limit for the subscriptions of this connection. `cut` ends it; without `cut` it is never chosen to make room. Returns
   * an error if there is no room.
   */
  connect(address: string | undefined, ownCostMax?: number, cut?: () => void): OpenConnection | TidemarkError
  figures(): { connections: number; cost: number; refused: number }
}

export type OpenLimitLog = { warn(fields: object, message: string): void }

/** Open connections and cost of one address, of one viewer, or of the process. */
type Place = {
  readonly key: string | undefined
  readonly who: string
  connections: number
  cost: number
  max: { connections: number; cost: number }
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
  /** Functions that cut the connections without a known client, the oldest first. */
  const unidentified = new Set<() => void>()
  const isShared = makeAddressList(sharedAddresses, 'limits.sharedAddresses')
  const all = makePlace(undefined, 'this process', openConnections.process, openCost.process)
  const anonymous = makePlace(
    undefined,
    'clients without a token',
    openConnections.process * ANONYMOUS_SHARE,
    openCost.process * ANONYMOUS_SHARE,
  )
  let refused = 0
  let refusedBefore = 0
  let warnedAt = -Infinity

  function placeOf(kind: 'address' | 'viewer', name: string, share = 1): Place {
    const key = `${kind}:${name}`
    const known = places.get(key)
    if (known !== undefined) return known
    const place = makePlace(key, `this ${kind}`, openConnections[kind] * share, openCost[kind] * share)
    places.set(key, place)
    return place
  }

  function add(place: Place, connections: number, cost: number): void {
    place.connections += connections
    place.cost += cost
    if (place.key !== undefined && place.connections === 0 && place.cost === 0) places.delete(place.key)
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

  function makeRoom(): void {
    for (const cutOldest of unidentified) {
      refuse(connectionsTooMany(all))
      return cutOldest()
    }
  }

  function connect(address: string | undefined, ownCostMax = Infinity, cut?: () => void): OpenConnection | TidemarkError {
    let own: Place[] = [all]
    if (address !== undefined && !isShared(address)) {
      const site = addressSite(address)
      if (site !== undefined) own.push(placeOf('address', site, SITE_SHARE))
      own.push(placeOf('address', addressGroup(address)))
    }
    if (findFull(own) === all) makeRoom()
    const full = findFull(own)
    if (full !== undefined) {
      own.forEach(forgetIfEmpty)
      return refuse(connectionsTooMany(full))
    }
    for (const place of own) add(place, 1, 0)
    const ownCost = makeOpenCost(ownCostMax)
    let isOpen = true

    function close(): void {
      unidentified.delete(cutNow)
      if (isOpen) for (const place of own) add(place, -1, 0)
      isOpen = false
    }
    function cutNow(): void {
      close()
      cut?.()
    }
    if (cut !== undefined) unidentified.add(cutNow)

    return {
      identify(viewer) {
        if (!isOpen) return undefined
        const further = placeOfViewer(viewer)
        if (viewer !== undefined && isService(viewer)) {
          for (const place of own) if (place !== all) add(place, -1, 0)
          own = [all]
        }
        if (further === undefined) {
          unidentified.delete(cutNow)
          return undefined
        }
        if (further.connections >= further.max.connections) {
          forgetIfEmpty(further)
          return refuse(connectionsTooMany(further))
        }
        unidentified.delete(cutNow)
        add(further, 1, 0)
        own = [...own, further]
        return undefined
      },
      take(cost) {
        const giveBack = ownCost.take(cost)
        if (giveBack === undefined) {
          const sentence = `open subscriptions of this socket may cost ${ownCostMax} points together, and this one exceeds the limit: complete some first, or follow fewer ids`
          return new TidemarkError('SUBSCRIPTIONS_TOO_MANY', sentence)
        }
        const taken = own
        const full = taken.find((place) => place.cost + cost > place.max.cost)
        if (full !== undefined) {
          giveBack()
          return refuse(subscriptionsTooMany(full, cost))
        }
        for (const place of taken) add(place, 0, cost)
        let isTaken = true
        return () => {
          if (isTaken) for (const place of taken) add(place, 0, -cost)
          isTaken = false
          giveBack()
        }
      },
      close,
    }
  }

  function placeOfViewer(viewer: Viewer): Place | undefined {
    if (viewer === undefined) return anonymous
    return isService(viewer) ? undefined : placeOf('viewer', viewer.id)
  }

  return { connect, figures: () => ({ connections: all.connections, cost: all.cost, refused }) }
}

function makePlace(key: string | undefined, who: string, connections: number, cost: number): Place {
  return { key, who, connections: 0, cost: 0, max: { connections, cost } }
}

/** A full address is found before a full process: its connections make no room. */
function findFull(places: readonly Place[]): Place | undefined {
  return places.findLast(({ connections, max }) => connections >= max.connections)
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
