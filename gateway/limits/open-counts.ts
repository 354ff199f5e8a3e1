/**
 * Counts open connections, and the cost of their subscriptions, where they are limited: in the process, for all clients without a token, by
 * viewer and by address. A count exists as long as one of its connections is open.
 */
import { isService } from '../../core/viewer.ts'
import type { Viewer } from '../../core/viewer.ts'
import { addressGroup, addressSite, makeAddressList, SITE_SHARE } from '../request/addresses.ts'

type Bounds = { readonly address: number; readonly viewer: number; readonly process: number }
export type OpenLimitOptions = {
  readonly openConnections: Bounds
  readonly openCost: Bounds
  /** Addresses and ranges shared by many callers. Default: empty. */
  readonly sharedAddresses?: readonly string[]
}

/** Functions that cut unidentified connections, the oldest first. */
export type Cuttable = { readonly silent: Set<() => void>; readonly verifying: Set<() => void> }

/** Open connections and cost of one address, of one viewer, or of the process. */
export type OpenCount = {
  /** Absent: it counts in the whole process. */
  readonly key: string | undefined
  readonly who: string
  connections: number
  cost: number
  readonly max: { readonly connections: number; readonly cost: number }
  /** Absent: a new connection is refused if this count is full. */
  readonly cuttable: Cuttable | undefined
}

export type OpenCounts = {
  /** The count of the whole process. */
  readonly all: OpenCount
  /** The counts of an unidentified connection, the widest first. */
  ofUnidentified(address: string | undefined): OpenCount[]
  /** The counts of an identified connection, the widest first. A viewer that is undefined has no token. */
  ofViewer(address: string | undefined, viewer: Viewer | undefined): OpenCount[]
  /** The numbers may be negative. */
  add(count: OpenCount, connections: number, cost: number): void
  forgetIfEmpty(count: OpenCount): void
}

const ANONYMOUS_SHARE = 0.5

/** `options` are read at each check, so they may change. A lower limit closes no open connection. */
export function makeOpenCounts(options: OpenLimitOptions): OpenCounts {
  const counts = new Map<string, OpenCount>()
  const isShared = makeSharedList(() => options.sharedAddresses)
  const all = makeCount(options, undefined, 'process', 1, makeCuttable())
  const anonymous = makeCount(options, undefined, 'process', ANONYMOUS_SHARE, undefined, 'clients without a token')

  function countOf(kind: 'address' | 'viewer', name: string, share = 1, cuttable?: Cuttable): OpenCount {
    const key = `${kind}:${name}`
    const known = counts.get(key)
    if (known !== undefined) return known
    const count = makeCount(options, key, kind, share, cuttable)
    counts.set(key, count)
    return count
  }

  function add(count: OpenCount, connections: number, cost: number): void {
    count.connections += connections
    count.cost += cost
    if (count.connections !== 0 || count.cost !== 0 || count.key === undefined) return
    // A connection that closed while its operation was prepared still takes and releases cost. Its count may have a successor by then.
    if (counts.get(count.key) === count) counts.delete(count.key)
  }

  return {
    all,
    ofUnidentified(address) {
      if (address === undefined || isShared(address)) return [all]
      const site = addressSite(address)
      const ofSite = site === undefined ? [] : [countOf('address', `unidentified ${site}`, SITE_SHARE, makeCuttable())]
      return [all, ...ofSite, countOf('address', addressGroup(address))]
    },
    ofViewer(address, viewer) {
      if (viewer !== undefined && isService(viewer)) return [all]
      const found = [all, viewer === undefined ? anonymous : countOf('viewer', viewer.id)]
      if (address === undefined || isShared(address)) return found
      const site = viewer === undefined ? addressSite(address) : undefined
      if (site !== undefined) found.push(countOf('address', site, SITE_SHARE))
      found.push(countOf('address', addressGroup(address)))
      return found
    },
    add,
    forgetIfEmpty: (count) => add(count, 0, 0),
  }
}

function makeCount(
  options: OpenLimitOptions,
  key: string | undefined,
  kind: keyof Bounds,
  share: number,
  cuttable?: Cuttable,
  who = `this ${kind}`,
): OpenCount {
  const max = {
    get connections() {
      return options.openConnections[kind] * share
    },
    get cost() {
      return options.openCost[kind] * share
    },
  }
  return { key, who, connections: 0, cost: 0, max, cuttable }
}

function makeSharedList(read: () => readonly string[] | undefined): (address: string) => boolean {
  const listOf = (addresses: readonly string[] = []) => makeAddressList(addresses, 'limits.sharedAddresses')
  let last = read()
  let isShared = listOf(last)
  return (address) => {
    if (read() !== last) {
      last = read()
      isShared = listOf(last)
    }
    return isShared(address)
  }
}

function makeCuttable(): Cuttable {
  return { silent: new Set(), verifying: new Set() }
}

/** Returns the function that makes room in a full count. Undefined if no connection of it may be cut. */
export function oldestOf(count: OpenCount | undefined): (() => void) | undefined {
  for (const cut of count?.cuttable?.silent ?? []) return cut
  for (const cut of count?.cuttable?.verifying ?? []) return cut
  return undefined
}

/** A full address is found before a full process: its connections make no room. */
export function findFull(counts: readonly OpenCount[]): OpenCount | undefined {
  return counts.findLast(({ connections, max }) => connections >= max.connections)
}

/** The count where a subscription of this cost has no room. */
export function findCostly(counts: readonly OpenCount[], cost: number): OpenCount | undefined {
  return counts.find((count) => count.cost + cost > count.max.cost)
}
