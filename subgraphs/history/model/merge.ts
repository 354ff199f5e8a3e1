/**
 * How two records of one key become one. Idempotent, and for what one hot store hands out also commutative: any order,
 * duplication and batching of reports ends in the same record. Two things depend on the order. Exact ties, where the later
 * arrival wins. And a deletion that lies between two visits already merged, since a record keeps the time of its newest
 * visit only; the hot store never makes one, because it deletes at the stored time or later.
 *
 * Every adapter does this inside its atomic call (on LMDB by calling `mergeProgress`, on Redis in Lua, on MySQL in the
 * upsert); the contract suites compare them with this function.
 */
import type { ProgressRecord, ConflictRule } from '../../../core/domain.ts'

const REAL = 2 ** 42
const FINISHED = 2 ** 41

/**
 * Orders resume points. A real visit outranks a glance; among equals the newest wins, or, under `furthest`, the
 * finished one and then the greatest position. `viewedAt` in ms stays below 2^42 until the year 2109.
 */
export function rankOf(rule: ConflictRule, report: { viewedAt: number; position: number; finished: boolean; glance: boolean }): number {
  if (rule === 'newest') return (report.glance ? 0 : REAL) + report.viewedAt
  return (report.glance ? 0 : REAL) + (report.finished ? FINISHED : 0) + report.position
}

/**
 * The record after `incoming` met `stored`, or `stored` itself (the same object) where nothing changes.
 * The result carries `incoming.version`; callers that assign versions do so before merging.
 */
export function mergeProgress(stored: ProgressRecord | undefined, incoming: ProgressRecord): ProgressRecord {
  if (stored === undefined || stored.viewedAt <= incoming.since) return incoming
  if (incoming.viewedAt <= stored.since) return stored
  const resume = outranks(incoming, stored) ? incoming : stored
  if (resume === stored && incoming.viewedAt <= stored.viewedAt && incoming.since <= stored.since) return stored
  return {
    viewedAt: Math.max(stored.viewedAt, incoming.viewedAt),
    since: Math.max(stored.since, incoming.since),
    rank: resume.rank,
    version: Math.max(stored.version, incoming.version),
    position: resume.position,
    duration: resume.duration,
    device: resume.device,
    finished: resume.finished,
    deleted: false,
  }
}

function outranks(incoming: ProgressRecord, stored: ProgressRecord): boolean {
  if (incoming.rank !== stored.rank) return incoming.rank > stored.rank
  return incoming.version >= stored.version
}
