/** The longsets as documented in the port, in two maps. */
import type { ViewerId } from '../../../core/domain.ts'
import { regionOf } from '../../../core/regions.ts'
import { longsetCount, longsetHas } from '../../../subgraphs/feed/packed/longset.ts'
import { LEASE_MS, VOID_LEASE, type LongsetStore } from '../../../subgraphs/feed/stores/longset-store.ts'
import type { Gate } from '../gate.ts'
import { makeRegionCalls } from './region-calls.ts'

export type LongsetFaults = {
  /** Stores a set although a follow happened since its lease. */
  fillsLate?: boolean
}

type Kept<T> = { value: T; until: number }

export type LongsetState = ReturnType<typeof makeLongsetState>

/** `now`: the clock of the server. */
export function makeLongsetState(now: () => number, faults: LongsetFaults) {
  return { now, faults, sets: new Map<ViewerId, Kept<Buffer>>(), leases: new Map<ViewerId, Kept<string>>(), leasesMade: 0 }
}

/** The port of one process. `lost`: as in the feed's hot store, whose servers it shares. */
export function openModelLongsets(state: LongsetState, regions: number, lost: ReadonlySet<number> | undefined, gate: Gate): LongsetStore {
  const { now, faults, sets, leases } = state
  const calls = makeRegionCalls(gate, regions, lost)
  const regionOfViewer = (viewer: ViewerId): number => regionOf(viewer, regions)
  const once = <T>(name: string, viewer: ViewerId, args: readonly unknown[], act: () => T): Promise<T> =>
    calls.once(name, regionOfViewer(viewer), [{ viewer }, ...args], act)
  const held = <T>(map: Map<ViewerId, Kept<T>>, viewer: ViewerId): T | undefined => {
    const kept = map.get(viewer)
    return kept !== undefined && kept.until > now() ? kept.value : undefined
  }

  return {
    get: (viewer) => once('get', viewer, [], () => held(sets, viewer)),
    has: (viewer, ids) =>
      once('has', viewer, [ids], () => {
        const set = held(sets, viewer)
        return set && ids.map((id) => longsetHas(set, id))
      }),
    countMany: (viewers) =>
      calls.perRegion('countMany', viewers, regionOfViewer, (some) =>
        some.map((viewer) => {
          const set = held(sets, viewer)
          return set && longsetCount(set)
        }),
      ),
    beginBuild: (viewer) =>
      once('beginBuild', viewer, [], () => {
        const shared = held(leases, viewer)
        if (shared !== undefined) return shared
        const lease = `lease ${++state.leasesMade}`
        leases.set(viewer, { value: lease, until: now() + LEASE_MS })
        return lease
      }),
    put: (viewer, set, lease, ttlMs) =>
      once('put', viewer, [lease], () => {
        const isEnded = lease === VOID_LEASE || held(leases, viewer) !== lease
        if (ttlMs <= 0 || (isEnded && faults.fillsLate !== true)) return false
        sets.set(viewer, { value: Buffer.from(set), until: now() + ttlMs })
        return true
      }),
    async forget(viewers, refuseMs) {
      await calls.perRegion('forget', viewers, regionOfViewer, (some) =>
        some.map((viewer) => {
          sets.delete(viewer)
          if (refuseMs === 0) leases.delete(viewer)
          else leases.set(viewer, { value: VOID_LEASE, until: now() + refuseMs })
        }),
      )
    },
    ...(lost === undefined ? {} : { partOf: regionOfViewer }),
    close: () => Promise.resolve(),
  }
}
