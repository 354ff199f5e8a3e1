/**
 * Records as rows, encoded and decoded. Values that order and merge records are columns. The resume point is a protobuf Progress with
 * nothing else in it, which the upsert takes as a whole. Numbers are BIGINT and stay below 2^53.
 */
import type { ProgressKey, ProgressRecord, ViewerId, ViewerSettings, ProgressRow } from '../../../../core/domain.ts'
import { decodeProgress, encodeProgress } from '../../model/record-codec.ts'
import type { SettingsRow } from '../record-store.ts'
import type { Row } from '../../../../stores/mysql/database.ts'
import { bytesLiteral, idLiteral, numberLiteral, packedHex } from '../../../../stores/mysql/literals.ts'
import { idOf } from '../../../../stores/mysql/cells.ts'

export function progressLiteral({ key, record }: ProgressRow): string {
  const resume = encodeProgress({ ...record, viewedAt: 0, since: 0, rank: 0, version: 0, deleted: false })
  const numbers = [record.viewedAt, record.since, record.rank, record.version].map(numberLiteral).join(',')
  return `(${idLiteral(key.viewer)},${numberLiteral(key.business)},${idLiteral(key.oid)},${numbers},${record.deleted ? 1 : 0},${bytesLiteral(resume)})`
}

/** Texts in the order of the primary key. */
export function orderOf(key: ProgressKey): string {
  return packedHex(key.viewer) + key.business.toString(16).padStart(4, '0') + packedHex(key.oid)
}

/** The record whose columns begin at `start`: viewed_at, since, resume_rank, version, deleted, resume. */
export function recordOf(row: Row, start: number): ProgressRecord {
  const resume = decodeProgress(row[start + 5] as Buffer)
  return {
    viewedAt: Number(row[start]),
    since: Number(row[start + 1]),
    rank: Number(row[start + 2]),
    version: Number(row[start + 3]),
    position: resume.position,
    duration: resume.duration,
    device: resume.device,
    finished: resume.finished,
    deleted: row[start + 4] === 1,
  }
}

const SWITCHES = 0

/** Texts of (viewer, business, paused, cleared_at, version): the switches, then each watermark. */
export function settingsLiterals({ viewer, settings }: SettingsRow): string[] {
  const id = idLiteral(viewer)
  const version = numberLiteral(settings.version)
  const watermarks = Object.entries(settings.clearedAt).map(([business, clearedAt]) => {
    return `(${id},${numberLiteral(Number(business))},0,${numberLiteral(clearedAt)},${version})`
  })
  return [`(${id},${SWITCHES},${settings.paused ? 1 : 0},0,${version})`, ...watermarks]
}

/** The settings of each viewer with a row among these of viewer, business, paused, cleared_at, version. */
export function settingsOf(rows: readonly Row[]): Map<ViewerId, ViewerSettings> {
  const found = new Map<ViewerId, { paused: boolean; clearedAt: Record<number, number>; version: number }>()
  for (const row of rows) {
    const viewer = idOf(row[0])
    const settings = found.get(viewer) ?? { paused: false, clearedAt: {}, version: 0 }
    found.set(viewer, settings)
    if (row[1] === SWITCHES) {
      settings.paused = row[2] === 1
      settings.version = Number(row[4])
    } else settings.clearedAt[Number(row[1])] = Number(row[3])
  }
  return found
}
