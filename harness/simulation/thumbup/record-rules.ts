/**
 * The invariants inside the record store of marks, at every moment. Counts equal rows, and owner sums equal the sums of their subjects. A
 * changed count has a new version. No offset is ahead of the rows that its messages announced. The checker recounts by itself, from the
 * rows of both tiers.
 */
import type { MarkKey, MarkRecord, Subject, ViewerId } from '../../../core/domain.ts'
import { keyText } from '../../../core/progress-key.ts'
import type { FlushMessage } from '../../../writeback/log.ts'
import type { MarkRecords, StreamOffset } from '../../../subgraphs/thumbup/stores/record-store.ts'
import type { MarkRecordsState } from '../../models/thumbup/record-rows.ts'
import type { LogObserver, LogState } from '../model-log.ts'
import { ownerText, subjectText } from './model-count-cache.ts'
import { isAsNewAs, nameOf, textOf } from './truth.ts'

export type RecordRulesDeps = {
  records: MarkRecordsState
  fail(message: string, viewer: ViewerId | undefined): void
  /** The record of a key in the hot store. */
  heldOf(key: MarkKey): MarkRecord | undefined
  /** True if the mark was ever undone so long ago that its row may be gone. */
  wasForgettable(key: MarkKey): boolean
}

export type RowCounts = { likes: number; dislikes: number }

/** A key's row as readers see it: the recent one, else the archived one. */
export function rowOf({ recent, archived }: MarkRecordsState, key: MarkKey): MarkRecord | undefined {
  const text = keyText(key)
  return (recent.get(key.business)?.get(text) ?? archived.get(key.business)?.get(text))?.record
}

export function recount({ recent, archived }: MarkRecordsState): Map<string, RowCounts & Subject> {
  const counted = new Map<string, RowCounts & Subject>()
  const note = ({ business, oid }: MarkKey, { mark }: MarkRecord): void => {
    const text = subjectText({ business, oid })
    const counts = counted.get(text) ?? { business, oid, likes: 0, dislikes: 0 }
    if (mark === 'LIKE') counts.likes++
    if (mark === 'DISLIKE') counts.dislikes++
    counted.set(text, counts)
  }
  for (const [business, rows] of archived) {
    const covering = recent.get(business)
    for (const [text, { key, record }] of rows) if (covering?.has(text) !== true) note(key, record)
  }
  for (const rows of recent.values()) for (const { key, record } of rows.values()) note(key, record)
  return counted
}

export function makeRecordRules({ records, fail, heldOf, wasForgettable }: RecordRulesDeps) {
  const versions = new Map<string, { likes: number; dislikes: number; version: number }>()
  const announced = new Map<FlushMessage, { key: MarkKey; record: MarkRecord }[]>()
  /** By key, mark and time: the newest version that was applied. The archive keeps none. */
  const applied = new Map<string, number>()
  const appliedText = (key: MarkKey, record: MarkRecord): string => `${keyText(key)} ${textOf(record)}`

  function rowWithVersion(key: MarkKey): MarkRecord | undefined {
    const row = rowOf(records, key)
    return row === undefined ? undefined : { ...row, version: Math.max(row.version, applied.get(appliedText(key, row)) ?? 0) }
  }

  function checkCounts(): Map<string, RowCounts & Subject> {
    const rows = recount(records)
    for (const [text, { counts }] of records.counts) {
      const { likes, dislikes } = rows.get(text) ?? { likes: 0, dislikes: 0 }
      if (counts.likes !== likes || counts.dislikes !== dislikes)
        fail(`counts: ${text} is counted as ${counts.likes},${counts.dislikes}, but its rows are ${likes},${dislikes}`, undefined)
      const before = versions.get(text)
      const isOther = before !== undefined && (before.likes !== counts.likes || before.dislikes !== counts.dislikes)
      if (before !== undefined && (counts.version < before.version || (isOther && counts.version === before.version)))
        fail(`counts: ${text} has changed, but its version went from ${before.version} to ${counts.version}`, undefined)
      versions.set(text, counts)
    }
    for (const [text, { likes, dislikes }] of rows)
      if (likes + dislikes > 0 && !records.counts.has(text)) fail(`counts: ${text} has rows and no counts`, undefined)
    return rows
  }

  function checkOwners(rows: ReadonlyMap<string, RowCounts>): void {
    const summed = new Map<string, number>()
    for (const [text, owner] of records.owners)
      summed.set(ownerText(owner), (summed.get(ownerText(owner)) ?? 0) + (rows.get(text)?.likes ?? 0))
    for (const text of new Set([...summed.keys(), ...records.sums.keys()])) {
      const [sum, wanted] = [records.sums.get(text)?.likes ?? 0, summed.get(text) ?? 0]
      if (sum !== wanted) fail(`owners: ${text} has received ${sum}, but the likes of its subjects are ${wanted}`, undefined)
    }
  }

  /** The record store has the announced records of these messages, or newer ones. */
  function checkAnnounced(messages: readonly FlushMessage[], what: string): void {
    for (const { key, record } of messages.flatMap((message) => announced.get(message) ?? [])) {
      const row = rowWithVersion(key)
      if (isAsNewAs(row, record) || (row === undefined && wasForgettable(key))) continue
      fail(`offsets: ${what} ${nameOf(key)}, announced as ${textOf(record)}, but the record store has ${textOf(row)}`, key.viewer)
    }
  }

  const logObserver: LogObserver = {
    appended(message) {
      const held = message.keys.map((key) => ({ key, record: heldOf(key) }))
      announced.set(
        message,
        held.flatMap(({ key, record }) => (record === undefined ? [] : [{ key, record }])),
      )
    },
    committed: (messages) => checkAnnounced(messages, 'the log commits'),
  }

  return {
    logObserver,
    /** After each call that may have changed something. */
    changed(name: keyof MarkRecords, args: readonly unknown[], log: LogState): void {
      checkOwners(checkCounts())
      if (name !== 'applyMarks') return
      for (const { key, record } of args[0] as readonly { key: MarkKey; record: MarkRecord }[]) {
        const text = appliedText(key, record)
        applied.set(text, Math.max(applied.get(text) ?? 0, record.version))
      }
      for (const { partition, offset } of args[1] as readonly StreamOffset[])
        checkAnnounced(log.before(partition, offset), 'the record store keeps an offset behind')
    },
  }
}
