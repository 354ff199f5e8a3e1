/**
 * The record store of filters on LMDB: a table of filters by viewer and month, one of quarantined filters, and one of both by expiry
 * (`filter-values.ts`). The last table changes only with a filter's first write, because a filter keeps its expiry. A fold changes nothing
 * but the viewer's filters.
 *
 * Actions of the environment run one at a time, across processes, on the newest state. A write therefore compares the version and replaces
 * the filter without any other guard. A purge takes few filters at a time, because other writers wait for the lock.
 */
import assert from 'node:assert/strict'
import { setImmediate } from 'node:timers/promises'
import type { FilterKey, FilterRow, FilterWrite, QuarantinedFilter, SeenRecords, StoredFilter } from '../record-store.ts'
import { cutReason } from '../../../../stores/reasons.ts'
import type { Bytes, Environment } from '../../../../stores/lmdb/environment.ts'
import { failingAs } from '../../../../stores/lmdb/failures.ts'
import {
  FILTER,
  QUARANTINED,
  asideRange,
  decodeDamaged,
  decodeFilter,
  decodeQuarantined,
  encodeFilter,
  encodeQuarantined,
  encodeSetAside,
  expiredEnd,
  expiringKey,
  filterKeyBytes,
  quarantineKey,
  readExpiringKey,
  readFilterKey,
  versionOfAside,
  viewerRange,
  type HeldFilter,
} from './filter-values.ts'

type SeenTables = { filters: Bytes; quarantined: Bytes; expiring: Bytes }

const PURGED_PER_WRITE = 1_000
const MEASURED_PER_STEP = 1_000
const DAY_MS = 86_400_000
const PRESENT = Buffer.from([1])
const AFTER = Buffer.from([0])

/** The environment stays open when the store is closed, since others may use it. */
export function openLmdbSeenRecords(environment: Environment): SeenRecords {
  const tables: SeenTables = {
    filters: environment.table('seen-filters'),
    quarantined: environment.table('seen-quarantined'),
    expiring: environment.table('seen-expiring'),
  }
  const calling = <T>(task: () => T | Promise<T>): Promise<T> => failingAs('RECORD_STORE_UNAVAILABLE', environment.folder, task)
  const reading = <T>(action: () => T): Promise<T> => calling(() => environment.read(action))

  return {
    getFilters: (keys) => reading(() => keys.map((key) => storedOf(readHeld(tables, filterKeyBytes(key))))),
    listFilters: (viewers) => reading(() => viewers.map((viewer) => listOf(tables, viewer))),
    listAllFilters: (after, limit, viewer) => reading(() => listAll(tables, after, limit, viewer)),
    putFilters: (writes) => calling(() => environment.write(() => writes.map((write) => putOne(tables, write)))),
    quarantineFilter: (key, version, reason, rebuilt) =>
      calling(() => environment.write(() => setAside(tables, key, version, reason, rebuilt))),
    listQuarantined: (limit, viewer) => reading(() => listAside(tables, limit, viewer)),
    countQuarantined: () => reading(() => tables.quarantined.getKeysCount()),
    purgeExpired: (expiredBefore, limit) =>
      calling(() => environment.writeToFree(() => purgeSome(tables, expiredBefore, Math.min(limit, PURGED_PER_WRITE)))),
    measureFilters: () => calling(() => measure(environment, tables)),
    check: () => reading(() => undefined),
    close: () => Promise.resolve(),
  }
}

function readHeld(tables: SeenTables, key: Buffer): HeldFilter | undefined {
  const value = tables.filters.getBinary(key)
  return value === undefined ? undefined : heldOf(tables, key, value)
}

function heldOf(tables: SeenTables, key: Buffer, value: Buffer): HeldFilter {
  const held = decodeFilter(value)
  if (held !== undefined) return held
  const [aside] = [...tables.quarantined.getKeys({ ...asideRange(key), limit: 1 })]
  return decodeDamaged(value, readFilterKey(key), aside === undefined ? 0 : versionOfAside(aside))
}

function storedOf(held: HeldFilter | undefined): StoredFilter | undefined {
  return held?.isThere === true ? { filter: held.filter, version: held.version } : undefined
}

function listOf(tables: SeenTables, viewer: string): (StoredFilter & { month: number })[] {
  return [...tables.filters.getRange(viewerRange(viewer))].flatMap(({ key, value }) => {
    const stored = storedOf(heldOf(tables, key, value))
    return stored === undefined ? [] : [{ month: readFilterKey(key).month, ...stored }]
  })
}

function listAll(tables: SeenTables, after: FilterKey | undefined, limit: number, viewer: string | undefined): FilterRow[] {
  const rows: FilterRow[] = []
  if (limit <= 0) return rows
  const all = viewer === undefined ? {} : viewerRange(viewer)
  const range = after === undefined ? all : { ...all, start: filterKeyBytes(after), exclusiveStart: true }
  for (const { key, value } of tables.filters.getRange(range)) {
    const { filter, version, expiresAt, isThere } = heldOf(tables, key, value)
    if (!isThere) continue
    rows.push({ ...readFilterKey(key), filter, version, expiresAt })
    if (rows.length === limit) break
  }
  return rows
}

function putOne(tables: SeenTables, { viewer, month, filter, expected, expiresAt }: FilterWrite): boolean {
  assert(filter.length > 0, 'a filter has a byte at least')
  const key = filterKeyBytes({ viewer, month })
  const before = readHeld(tables, key)
  if ((storedOf(before)?.version ?? 0) !== expected) return false
  if (before === undefined) void tables.expiring.put(expiringKey(expiresAt, FILTER, key), PRESENT)
  const version = (before?.version ?? 0) + 1
  void tables.filters.put(key, encodeFilter({ filter, version, expiresAt: before?.expiresAt ?? expiresAt }))
  return true
}

function setAside(tables: SeenTables, { viewer, month }: FilterKey, version: number, reason: string, rebuilt?: Buffer): boolean {
  const key = filterKeyBytes({ viewer, month })
  const before = readHeld(tables, key)
  if (before?.isThere !== true || before.version !== version) return false
  const aside = quarantineKey(key, version)
  void tables.quarantined.put(aside, encodeQuarantined(before, cutReason(reason)))
  void tables.expiring.put(expiringKey(before.expiresAt, QUARANTINED, aside), PRESENT)
  void tables.filters.put(key, encodeSetAside(before, rebuilt))
  return true
}

function listAside(tables: SeenTables, limit: number, viewer: string | undefined): QuarantinedFilter[] {
  if (limit <= 0) return []
  const range = viewer === undefined ? {} : viewerRange(viewer)
  return [...tables.quarantined.getRange({ ...range, limit })].map(({ key, value }) => decodeQuarantined(key, value))
}

function purgeSome(tables: SeenTables, expiredBefore: number, limit: number): number {
  if (limit <= 0) return 0
  const expired = [...tables.expiring.getKeys({ end: expiredEnd(expiredBefore), limit })]
  for (const entry of expired) {
    const { table, key } = readExpiringKey(entry)
    void (table === FILTER ? tables.filters : tables.quarantined).remove(key)
    void tables.expiring.remove(entry)
  }
  return expired.length
}

/** Iterates over all filters in steps, with one filter in memory at a time. */
async function measure(environment: Environment, { filters }: SeenTables) {
  const measured = { filters: 0, bytes: 0 }
  const perDay = new Map<number, number>()
  const step = (start: Buffer | undefined): Buffer | undefined => {
    const keys = [...filters.getKeys({ ...(start === undefined ? {} : { start }), limit: MEASURED_PER_STEP })]
    for (const key of keys) {
      const held = decodeFilter(filters.getBinary(key) as Buffer)
      if (held?.isThere !== true || readFilterKey(key).month === 0) continue
      measured.filters += 1
      measured.bytes += held.filter.length
      const day = Math.floor(held.expiresAt / DAY_MS)
      perDay.set(day, (perDay.get(day) ?? 0) + 1)
    }
    const last = keys.at(-1)
    return last === undefined || keys.length < MEASURED_PER_STEP ? undefined : Buffer.concat([last, AFTER])
  }
  for (let start = environment.read(() => step(undefined)); start !== undefined;) {
    await setImmediate()
    start = environment.read(() => step(start))
  }
  const expiring = [...perDay].map(([day, own]) => ({ day, filters: own })).toSorted((a, b) => a.day - b.day)
  return { ...measured, expiring }
}
