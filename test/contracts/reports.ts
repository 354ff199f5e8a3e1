/** Unused viewers and their reports, so that the suites may run on a server with other data. */
import type { ProgressKey, ProgressRecord } from '../../core/domain.ts'
import { rankOf } from '../../subgraphs/history/model/merge.ts'
import { regionOf } from '../../core/regions.ts'
import type { HotStore, ProgressWrite, PutOutcome } from '../../subgraphs/history/stores/hot-store.ts'

const run = 100_000_000 + Math.floor(Math.random() * 900_000_000)
let viewers = 0
let moment = Date.now()

/** A viewer that no other test has used, with an integer id. */
export function freshViewer(): string {
  viewers += 1
  return `${run}${String(viewers).padStart(6, '0')}`
}

/** The same with an id that is not an integer. */
export function freshNamedViewer(): string {
  return `viewer-ü-${freshViewer()}`
}

export function freshViewerIn(region: number, regions: number): string {
  for (;;) {
    const viewer = freshViewer()
    if (regionOf(viewer, regions) === region) return viewer
  }
}

/** The clock of the suites. It never goes back, so versions and dirty times of a store follow the order of the tests. */
export function later(milliseconds = 10): number {
  moment += milliseconds
  return moment
}

/** A real visit, ranked by the rule `newest` unless `rank` is given. */
export function report(viewedAt: number, fields: Partial<ProgressRecord> = {}): ProgressRecord {
  const position = fields.position ?? 60_000
  return {
    viewedAt,
    since: 0,
    rank: rankOf('newest', { viewedAt, position, finished: false, glance: false }),
    version: 0,
    position,
    duration: 600_000,
    device: 'tv',
    finished: false,
    deleted: false,
    ...fields,
  }
}

/** A visit of a second: it moves the subject up, and leaves the resume point. */
export function glance(viewedAt: number, fields: Partial<ProgressRecord> = {}): ProgressRecord {
  const position = fields.position ?? 1_000
  return report(viewedAt, { position, rank: rankOf('newest', { viewedAt, position, finished: false, glance: true }), ...fields })
}

export function write(viewer: string, oid: string, record: ProgressRecord, fields: Partial<ProgressWrite> = {}): ProgressWrite {
  return { viewer, business: 1, oid, record, decisive: true, ...fields }
}

export function keyOf(viewer: string, oid: string, business = 1): ProgressKey {
  return { viewer, business, oid }
}

/** The record of a written outcome. Any other outcome is an error with its content. */
export function writtenRecord(outcome: PutOutcome | undefined): ProgressRecord {
  if (outcome?.status !== 'written') throw new Error(`expected a written outcome, got ${JSON.stringify(outcome)}`)
  return outcome.record
}

/** A record without the version, which the store assigns. */
export function unversioned(record: ProgressRecord | null | undefined): Omit<ProgressRecord, 'version'> | undefined {
  if (record === undefined || record === null) return undefined
  const { version: _, ...rest } = record
  return rest
}

/** Writes entries `oids` a second apart, oldest first, and clears their dirty marks. Returns the records in that order. */
export async function fillClean(
  store: HotStore,
  viewer: string,
  oids: readonly string[],
  timelineCap: number,
  business = 1,
): Promise<ProgressRecord[]> {
  const records: ProgressRecord[] = []
  for (const oid of oids) {
    const now = later(1_000)
    const [outcome] = await store.putProgress([write(viewer, oid, report(now), { business })], { now, timelineCap })
    records.push(writtenRecord(outcome))
  }
  const marks = oids.map((oid, index) => ({ key: { viewer, business, oid }, version: records[index]?.version ?? 0 }))
  await store.clearDirty(marks, timelineCap)
  return records
}

export function numbered(count: number, first = 1): string[] {
  return Array.from({ length: count }, (_, index) => String(first + index))
}
