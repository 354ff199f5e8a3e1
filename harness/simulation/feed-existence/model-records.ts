/**
 * One process's port to the model of the record store of filters (`harness/models/feed-existence/record-store-model.ts`): a read is one
 * statement, and a write is one statement per filter. The gate decides when each takes effect.
 */
import type { ViewerId } from '../../../core/domain.ts'
import { MARK_MONTH, decodeMark } from '../../../subgraphs/feed-existence/migration/progress.ts'
import { openFilter, type Probe } from '../../../subgraphs/feed-existence/filter/filter.ts'
import type { FilterKey, FilterWrite, SeenRecords } from '../../../subgraphs/feed-existence/stores/record-store.ts'
import { openModelSeenRecords, type SeenRecordsState } from '../../models/feed-existence/record-store-model.ts'
import type { Gate } from '../gate.ts'
import { hashOf } from './universe.ts'

const DAY_MS = 86_400_000

export type SeenRecordsFaults = {
  /** Writes without a check of the stored version. */
  ignoresVersions?: boolean
  /** Filters expire a month early. */
  expiresEarly?: boolean
  /** A damaged filter is quarantined first and rebuilt in a second step. */
  rebuildsLater?: boolean
  /** A viewer stays migrated although one of their filters is rebuilt. */
  keepsMarks?: boolean
}

export type SeenRecordsObserver = {
  written(write: FilterWrite): void
  purged(keys: readonly FilterKey[]): void
}

export function openSimulatedSeenRecords(
  state: SeenRecordsState,
  faults: SeenRecordsFaults,
  observer: SeenRecordsObserver,
  gate: Gate,
): SeenRecords {
  const model = openModelSeenRecords(state)
  function inParts<R>(name: string, args: readonly unknown[], parts: readonly (() => Promise<R>)[]): Promise<R[]> {
    const results: Promise<R>[] = []
    const run = parts.map((part, place) => () => void (results[place] = part()))
    return gate.call<unknown>('records', name, args, run, () => Promise.all(results)) as Promise<R[]>
  }
  const once = async <R>(name: string, args: readonly unknown[], act: () => Promise<R>): Promise<R> =>
    (await inParts(name, args, [act]))[0] as R

  async function put(asked: FilterWrite): Promise<boolean> {
    if (faults.keepsMarks === true && asked.month === MARK_MONTH && decodeMark(asked.filter).size === 0) return true
    const stored = state.filters.get(`${asked.month}:${asked.viewer}`)
    const current = stored?.filter === undefined ? 0 : stored.version
    const write = {
      ...asked,
      expected: faults.ignoresVersions === true ? current : asked.expected,
      expiresAt: faults.expiresEarly === true ? asked.expiresAt - 31 * DAY_MS : asked.expiresAt,
    }
    const version = stored?.version ?? 0
    const written = model.putFilters([write])
    if ((state.filters.get(`${asked.month}:${asked.viewer}`)?.version ?? 0) > version) observer.written(write)
    return (await written)[0] === true
  }

  return {
    readsAtOnceMax: 2,
    getFilters: (keys) => once('getFilters', [keys], () => model.getFilters(keys)),
    listFilters: (viewers) => once('listFilters', [viewers], () => model.listFilters(viewers)),
    listAllFilters: (after, limit, whose) => once('listAllFilters', [after, limit, whose], () => model.listAllFilters(after, limit, whose)),
    putFilters: (writes) =>
      inParts(
        'putFilters',
        [writes.map(({ viewer, month, expected, filter }) => ({ viewer, month, expected, bytes: filter.length }))],
        writes.map((write) => () => put(write)),
      ),
    async quarantineFilter(key, version, reason, rebuilt) {
      const isLater = faults.rebuildsLater === true
      const known = isLater ? undefined : rebuilt
      const isAside = await once('quarantineFilter', [key, version], () => model.quarantineFilter(key, version, reason, known))
      if (!isLater || rebuilt === undefined) return isAside
      const write = { ...key, filter: rebuilt, expected: 0, expiresAt: 0 }
      await once('putFilters', [key], () => model.putFilters([write]))
      return isAside
    },
    listQuarantined: (limit, whose) => once('listQuarantined', [limit, whose], () => model.listQuarantined(limit, whose)),
    countQuarantined: () => once('countQuarantined', [], () => model.countQuarantined()),
    purgeExpired: (before, limit) =>
      once('purgeExpired', [before], () => {
        const held = [...state.filters.values()]
        const done = model.purgeExpired(before, limit)
        observer.purged(held.filter(({ viewer, month }) => !state.filters.has(`${month}:${viewer}`)))
        return done
      }),
    measureFilters: () => once('measureFilters', [], () => model.measureFilters()),
    check: () => once('check', [], () => model.check()),
    close: () => Promise.resolve(),
  }
}

/** Null: cannot be read. */
const opened = new WeakMap<Buffer, Probe | null>()

/** The stored filter of a month, opened; undefined if there is none, null if it cannot be read. */
export function probeOf(state: SeenRecordsState, viewer: ViewerId, month: number): Probe | null | undefined {
  const filter = state.filters.get(`${month}:${viewer}`)?.filter
  if (filter === undefined) return undefined
  let probe = opened.get(filter)
  if (probe === undefined) {
    try {
      probe = openFilter(filter)
    } catch {
      probe = null
    }
    opened.set(filter, probe)
  }
  return probe
}

/** Also true for an unreadable filter, which proves nothing. */
export function isInFilter(state: SeenRecordsState, viewer: ViewerId, month: number, business: number, oid: string): boolean {
  const probe = probeOf(state, viewer, month)
  return probe === null || probe?.has(...hashOf(business, oid)) === true
}

/** Damages a filter as a faulty disk would, without a write. Returns its key, or undefined if there is none. */
export function damageFilter(state: SeenRecordsState, pick: (count: number) => number): FilterKey | undefined {
  const held = [...state.filters.values()].filter(({ filter }) => filter !== undefined)
  if (held.length === 0) return undefined
  const { viewer, month, filter, ...rest } = held[pick(held.length)] as (typeof held)[number] & { filter: Buffer }
  const damaged = Buffer.from(filter)
  damaged[pick(damaged.length)]! ^= 0x10
  state.filters.set(`${month}:${viewer}`, { viewer, month, filter: damaged, ...rest })
  return { viewer, month }
}
