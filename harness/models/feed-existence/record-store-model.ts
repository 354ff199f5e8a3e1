/**
 * The record store of filters as documented in the port, in a plain map. Several processes may share a state. Every method happens at one
 * instant, which `run` chooses: at once, or when a simulation decides. If `run` rejects before it has called the action, the action has not
 * happened.
 */
import type { ViewerId } from '../../../core/domain.ts'
import { compareIds } from '../../../core/keys.ts'
import { cutReason } from '../../../stores/reasons.ts'
import type {
  FilterKey,
  FilterRow,
  FilterWrite,
  QuarantinedFilter,
  SeenRecords,
  StoredFilter,
} from '../../../subgraphs/feed-existence/stores/record-store.ts'

/** `filter` is undefined after a quarantine without a rebuild. */
type HeldFilter = FilterKey & { filter: Buffer | undefined; version: number; expiresAt: number }

export type SeenRecordsState = {
  filters: Map<string, HeldFilter>
  quarantined: (QuarantinedFilter & { expiresAt: number })[]
}

export function makeSeenRecordsState(): SeenRecordsState {
  return { filters: new Map(), quarantined: [] }
}

/** Damage as by a disk: without a write, so the version does not change. */
export function damageModel(state: SeenRecordsState, key: FilterKey, bytes: Buffer): void {
  const before = state.filters.get(textOf(key))
  if (before?.filter !== undefined) state.filters.set(textOf(key), { ...before, filter: Buffer.from(bytes) })
}

export type RunSeenAtOnce = <T>(name: keyof SeenRecords, args: readonly unknown[], act: () => T) => Promise<T>

// oxlint-disable-next-line typescript/require-await -- what the action throws must reject
const immediately: RunSeenAtOnce = async (_name, _args, act) => act()

const DAY_MS = 86_400_000

/** The port of one process. */
export function openModelSeenRecords(state: SeenRecordsState, run: RunSeenAtOnce = immediately): SeenRecords {
  const held = (key: FilterKey): HeldFilter | undefined => state.filters.get(textOf(key))
  const visible = (): (HeldFilter & { filter: Buffer })[] =>
    [...state.filters.values()].flatMap(({ filter, ...rest }) => (filter === undefined ? [] : [{ ...rest, filter }]))

  function get(key: FilterKey): StoredFilter | undefined {
    const found = held(key)
    return found?.filter === undefined ? undefined : { filter: Buffer.from(found.filter), version: found.version }
  }

  function listOf(viewer: ViewerId): (StoredFilter & { month: number })[] {
    return visible()
      .filter((each) => each.viewer === viewer)
      .map(({ month, filter, version }) => ({ month, filter: Buffer.from(filter), version }))
      .toSorted((a, b) => a.month - b.month)
  }

  function listAll(after: FilterKey | undefined, limit: number, viewer: ViewerId | undefined): FilterRow[] {
    return visible()
      .filter((each) => (viewer === undefined || each.viewer === viewer) && (after === undefined || compareKeys(each, after) > 0))
      .toSorted(compareKeys)
      .slice(0, limit)
      .map((each) => ({ ...each, filter: Buffer.from(each.filter) }))
  }

  function put({ viewer, month, filter, expected, expiresAt }: FilterWrite): boolean {
    const before = held({ viewer, month })
    if ((before?.filter === undefined ? 0 : before.version) !== expected) return false
    const version = (before?.version ?? 0) + 1
    const kept = before?.expiresAt ?? expiresAt
    state.filters.set(textOf({ viewer, month }), { viewer, month, filter: Buffer.from(filter), version, expiresAt: kept })
    return true
  }

  function quarantine({ viewer, month }: FilterKey, version: number, reason: string, rebuilt: Buffer | undefined): boolean {
    const before = held({ viewer, month })
    if (before?.filter === undefined || before.version !== version) return false
    const { filter, expiresAt } = before
    state.quarantined.push({ viewer, month, filter, version, expiresAt, reason: cutReason(reason) })
    state.filters.set(textOf({ viewer, month }), {
      viewer,
      month,
      filter: rebuilt && Buffer.from(rebuilt),
      version: version + 1,
      expiresAt,
    })
    return true
  }

  function purge(expiredBefore: number, limit: number): number {
    const expired = [...state.filters].filter(([, each]) => each.expiresAt <= expiredBefore).slice(0, Math.max(0, limit))
    for (const [text] of expired) state.filters.delete(text)
    if (expired.length > 0 || limit <= 0) return expired.length
    const aside = state.quarantined.filter((each) => each.expiresAt <= expiredBefore).slice(0, limit)
    state.quarantined = state.quarantined.filter((each) => !aside.includes(each))
    return aside.length
  }

  function measure() {
    const all = visible().filter(({ month }) => month > 0)
    const perDay = Map.groupBy(all, ({ expiresAt }) => Math.floor(expiresAt / DAY_MS))
    const expiring = [...perDay].map(([day, own]) => ({ day, filters: own.length })).toSorted((a, b) => a.day - b.day)
    return { filters: all.length, bytes: all.reduce((sum, { filter }) => sum + filter.length, 0), expiring }
  }

  return {
    getFilters: (keys) => run('getFilters', [keys], () => keys.map(get)),
    listFilters: (viewers) => run('listFilters', [viewers], () => viewers.map(listOf)),
    listAllFilters: (after, limit, viewer) => run('listAllFilters', [after, limit, viewer], () => listAll(after, limit, viewer)),
    putFilters: (writes) => run('putFilters', [writes], () => writes.map(put)),
    quarantineFilter: (key, version, reason, rebuilt) =>
      run('quarantineFilter', [key, version, reason, rebuilt], () => quarantine(key, version, reason, rebuilt)),
    listQuarantined: (limit, whose) =>
      run('listQuarantined', [limit, whose], () =>
        state.quarantined
          .filter(({ viewer }) => whose === undefined || viewer === whose)
          .toSorted((a, b) => compareIds(a.viewer, b.viewer))
          .slice(0, Math.max(0, limit))
          .map(({ viewer, month, filter, version, reason }) => ({ viewer, month, filter, version, reason })),
      ),
    countQuarantined: () => run('countQuarantined', [], () => state.quarantined.length),
    purgeExpired: (expiredBefore, limit) => run('purgeExpired', [expiredBefore, limit], () => purge(expiredBefore, limit)),
    measureFilters: () => run('measureFilters', [], measure),
    check: () => run('check', [], () => undefined),
    close: () => Promise.resolve(),
  }
}

function compareKeys(a: FilterKey, b: FilterKey): number {
  return compareIds(a.viewer, b.viewer) || a.month - b.month
}

function textOf({ viewer, month }: FilterKey): string {
  return `${month}:${viewer}`
}
