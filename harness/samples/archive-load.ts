/**
 * Marks for the benchmark of the archive: recorded interactions, or a sample of the same form. Each row is a mark of that day, and
 * one in sixteen is a dislike. Recorded ids are small integers and recorded times are days, which both take few bytes. The same
 * rows are therefore also given with the ids and the times of a large site.
 */
import { createHash } from 'node:crypto'
import { readInteractions } from '../../cli/replay/interactions.ts'
import { randomBelow, seededRandom } from '../../core/random.ts'
import type { ArchivedMark } from '../../subgraphs/thumbup/archive/block.ts'

export type MarkRow = { viewer: string; oid: string; mark: ArchivedMark['mark']; markedAt: number }

const DAY_MS = 86_400_000
const DISLIKE_EVERY = 16
/** The number of ids that a large site has assigned, with a reserve. */
const IDS_MAX = 2 ** 36
const TEXT_ID_LENGTH = 25

export async function recordedMarks(file: string): Promise<MarkRow[]> {
  const rows: MarkRow[] = []
  for await (const { viewer, oid, viewedAt } of readInteractions(file))
    rows.push({ viewer, oid, mark: markOf(rows.length), markedAt: viewedAt })
  return rows
}

/** Seven rows per viewer and twelve per subject, no pair twice. A few subjects and viewers have many (the cube of a uniform number). */
export function sampleMarks(count: number): MarkRow[] {
  const random = seededRandom(1)
  const pairs = new Set<string>()
  while (pairs.size < count) pairs.add(`${Math.floor((count / 7) * random() ** 3)} ${Math.floor((count / 12) * random() ** 3)}`)
  const days = [...pairs, ''].map(() => randomBelow(random, 5_000) * DAY_MS).toSorted((a, b) => a - b)
  return Array.from(pairs, (pair, i) => {
    const [viewer = '', oid = ''] = pair.split(' ')
    return { viewer, oid, mark: markOf(i), markedAt: days[i] ?? 0 }
  })
}

function markOf(row: number): ArchivedMark['mark'] {
  return row % DISLIKE_EVERY === 0 ? 'DISLIKE' : 'LIKE'
}

/** A random millisecond of the day. */
export function withExactTimes(rows: readonly MarkRow[]): MarkRow[] {
  const random = seededRandom(2)
  return rows.map((row) => ({ ...row, markedAt: row.markedAt + randomBelow(random, DAY_MS) }))
}

/** Unrelated integers. */
export function withLargeIds(rows: readonly MarkRow[]): MarkRow[] {
  return withIds(rows, (id) => String(createHash('sha256').update(id).digest().readUIntBE(0, 6) % IDS_MAX))
}

/** 25 letters, digits, - and _. */
export function withTextIds(rows: readonly MarkRow[]): MarkRow[] {
  return withIds(rows, (id) => createHash('sha256').update(id).digest('base64url').slice(0, TEXT_ID_LENGTH))
}

function withIds(rows: readonly MarkRow[], idOf: (id: string) => string): MarkRow[] {
  return rows.map((row) => ({ ...row, viewer: idOf(row.viewer), oid: idOf(row.oid) }))
}
