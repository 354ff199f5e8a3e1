/**
 * The merge of two records of one key. It is idempotent, and for records of one hot store also commutative: reports in any order, repeated
 * or batched, end in the same record. Two cases depend on the order. In an exact tie, the later arrival wins. A deletion between two visits
 * that are already merged cannot separate them, since a record keeps the time of its newest visit only. The hot store never makes such a
 * deletion, because it deletes at the stored time or later.
 *
 * Every adapter merges inside its atomic call: LMDB calls `mergeProgress`, Redis has it in Lua, MySQL in the upsert. The contract suites
 * compare them with this function.
 */
import type { ProgressRecord, ConflictRule } from '../../../core/domain.ts'

const REAL = 2 ** 42
const FINISHED = 2 ** 41

/**
 * Orders resume points. A real visit outranks a glance. Among equals the newest wins; under `furthest`, the finished one, then the greatest
 * position. `viewedAt` in ms stays below 2^42 until the year 2109.
 */
export function rankOf(rule: ConflictRule, report: { viewedAt: number; position: number; finished: boolean; glance: boolean }): number {
  if (rule === 'newest') return (report.glance ? 0 : REAL) + report.viewedAt
  return (report.glance ? 0 : REAL) + (report.finished ? FINISHED : 0) + report.position
}

/**
 * The record after the merge of `incoming` into `stored`, or `stored` itself (the same object) if nothing changes. The result carries
 * `incoming.version`; callers that assign versions do so before the merge.
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
