/**
 * Limits open connections (WebSockets and event streams) and the total cost of their subscriptions: per address, per viewer and per
 * process. A rate limit counts requests over time. A connection costs memory until it ends, so it needs a count.
 *
 * Anonymous connections may take only half of the process, so that clients without a token cannot lock out clients with a token. A service
 * counts in the process alone, because its viewers share its address and its token. Addresses of many callers (`sharedAddresses`) have no
 * limit of their own. A /48 of IPv6 limits clients without a token only: a mobile carrier gives each phone a /64 of the same /48.
 *
 * A WebSocket opens before its client is known, by `connection_init`. If the process is full, the oldest silent WebSocket is cut for the
 * new connection. A WebSocket with a token that is being verified is cut only if no WebSocket is silent. Unidentified WebSockets of a /48
 * are counted apart from its anonymous clients. If they are too many, the oldest of them is cut for the new one.
 *
 * Counts exist only for open connections, so the limits bound this memory.
 */
import type { Clock } from '../../core/clock.ts'
import { TidemarkError } from '../../core/errors.ts'
import { once } from '../../core/once.ts'
import type { Viewer } from '../../core/viewer.ts'
import { makeOpenCost } from './open-cost.ts'
import { findCostly, findFull, makeOpenCounts, oldestOf, type OpenCount, type OpenCounts, type OpenLimitOptions } from './open-counts.ts'

/** An open connection. */
export type OpenConnection = {
  /** Called when the client has sent its credentials: until the viewer is known, silent connections are cut first. */
  verify(): void
  /** Called when the viewer is known. Returns an error if there is no room: the connection must then be closed. */
  identify(viewer: Viewer | undefined): TidemarkError | undefined
  /**
   * Takes room for a subscription and returns the function that releases it; calling it again has no effect. Returns an error if there is
   * no room, and then takes nothing.
   */
  take(cost: number): (() => void) | TidemarkError
  /** Costs stay taken until released. Releasing again has no effect. */
  close(): void
}

/** An identified client with the cost of the subscription that it opens at once, or an unidentified client. `cut` ends its connection. */
export type OpenClient = { readonly viewer: Viewer | undefined; readonly cost?: number } | { readonly cut: () => void }

export type OpenLimits = {
  /**
   * `ownCostMax`: the limit for the subscriptions of this connection. Returns an error if there is no room for the connection or its cost,
   * and then cuts no other. The cost is not taken yet.
   */
  connect(address: string | undefined, client: OpenClient, ownCostMax?: number): OpenConnection | TidemarkError
  figures(): { connections: number; cost: number; refused: number }
}

export type OpenLimitLog = { warn(fields: object, message: string): void }

const WARN_EVERY_MS = 60_000
export const UNLIMITED: OpenLimitOptions = {
  openConnections: { address: Infinity, viewer: Infinity, process: Infinity },
  openCost: { address: Infinity, viewer: Infinity, process: Infinity },
}

export function makeOpenLimits(options: OpenLimitOptions, clock: Clock, log: OpenLimitLog): OpenLimits {
  const counts = makeOpenCounts(options)
  const refusals = countRefusals(clock, log)

  function connect(address: string | undefined, client: OpenClient, ownCostMax = Infinity): OpenConnection | TidemarkError {
    const own = 'viewer' in client ? counts.ofViewer(address, client.viewer) : counts.ofUnidentified(address)
    const full = findFull(own)
    const cutOldest = oldestOf(full)
    const cost = 'viewer' in client ? (client.cost ?? 0) : 0
    const costly = findCostly(own, cost)
    const isFull = full !== undefined && cutOldest === undefined
    const error = isFull ? connectionsTooMany(full) : costly && subscriptionsTooMany(costly, cost)
    if (error !== undefined) {
      own.forEach(counts.forgetIfEmpty)
      return refusals.add(error)
    }
    // The cut comes last. Otherwise it could empty, and so remove, a count of the new connection.
    for (const count of own) counts.add(count, 1, 0)
    if (full !== undefined) refusals.add(connectionsTooMany(full))
    cutOldest?.()
    return makeConnection(counts, refusals, own, { address, client, ownCostMax })
  }

  return { connect, figures: () => ({ connections: counts.all.connections, cost: counts.all.cost, refused: refusals.total() }) }
}

type Refusals = { add(error: TidemarkError): TidemarkError; total(): number }

/** Counts refusals, and logs one of them per minute. */
function countRefusals(clock: Clock, log: OpenLimitLog): Refusals {
  let refused = 0
  let refusedBefore = 0
  let warnedAt = -Infinity
  return {
    add(error) {
      refused += 1
      const now = clock.now()
      if (now - warnedAt >= WARN_EVERY_MS) {
        warnedAt = now
        const hint = 'WebSockets or event streams were refused; behind a proxy set server.trustProxy, or all clients count as one address'
        log.warn({ reason: error.message, refused: refused - refusedBefore }, hint)
        refusedBefore = refused
      }
      return error
    },
    total: () => refused,
  }
}

type Opened = { readonly address: string | undefined; readonly client: OpenClient; readonly ownCostMax: number }

/** `first`: the counts in which the connection is counted already. */
function makeConnection(
  counts: OpenCounts,
  refusals: Refusals,
  first: readonly OpenCount[],
  { address, client, ownCostMax }: Opened,
): OpenConnection {
  const ownCost = makeOpenCost(ownCostMax)
  let own = first
  let isOpen = true

  function leave(count: OpenCount): void {
    count.cuttable?.silent.delete(cutNow)
    count.cuttable?.verifying.delete(cutNow)
    counts.add(count, -1, 0)
  }

  function close(): void {
    if (isOpen) for (const count of own) leave(count)
    isOpen = false
  }

  function cutNow(): void {
    close()
    if ('cut' in client) client.cut()
  }

  if ('cut' in client) for (const count of own) count.cuttable?.silent.add(cutNow)

  return {
    verify() {
      for (const { cuttable } of own) if (cuttable?.silent.delete(cutNow)) cuttable.verifying.add(cutNow)
    },
    identify(viewer) {
      if (!isOpen) return undefined
      const next = counts.ofViewer(address, viewer)
      const further = next.filter((count) => !own.includes(count))
      const full = findFull(further)
      if (full !== undefined) {
        further.forEach(counts.forgetIfEmpty)
        return refusals.add(connectionsTooMany(full))
      }
      for (const count of next) counts.add(count, 1, 0)
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
        return refusals.add(subscriptionsTooMany(full, cost))
      }
      for (const count of taken) counts.add(count, 0, cost)
      return once(() => {
        for (const count of taken) counts.add(count, 0, -cost)
        giveBack()
      })
    },
    close,
  }
}

function connectionsTooMany({ key, who, max }: OpenCount): TidemarkError {
  if (key === undefined)
    return new TidemarkError('CAPACITY_REACHED', `${who} may have ${max.connections} connections open: try again later`)
  return new TidemarkError('CONNECTIONS_TOO_MANY', `${who} may have ${max.connections} connections open: close some first`)
}

function subscriptionsTooMany({ key, who, max }: OpenCount, cost: number): TidemarkError {
  const sentence = `open subscriptions of ${who} may cost ${max.cost} points together, and this one costs ${cost}`
  if (key === undefined) return new TidemarkError('CAPACITY_REACHED', `${sentence}: try again later, or follow fewer ids`)
  return new TidemarkError('SUBSCRIPTIONS_TOO_MANY', `${sentence}: complete some first, or follow fewer ids`)
}
