/**
 * The persist step: deduplicates keys, reads their contents from the hot store, upserts them into the record store, and clears the dirty
 * marks that have not moved. Jobs run it for log messages, the sweeper for keys that no message carried, and the service itself when the
 * log is down. It is one idempotent step for all.
 *
 * If feed existence runs too, it gets the records before their marks are cleared, and before anything can be trimmed. It does not get plays
 * that were staged with their reports, on the day of the record. The sweeper knows no such play: a record that it finds may come from a
 * process that died between its put and its staging.
 *
 * The order carries the guarantees. A mark is cleared only after its content is durable, and only at the version that was read. A crash
 * between any two lines leaves the mark, and the step runs again. The step reads the newest content, so an old message persists new
 * content, which is correct.
 *
 * Records and settings that cannot be decoded stay dirty, and do not delay others. The sweeper tries them again in each round.
 *
 * With `publish`, what was persisted is also sent to the topic of progress before its marks are cleared, so a crash repeats it.
 */
import { DEFAULT_RULES, playDayOf, type RewardRules } from '../../../core/rewards.ts'
import type { FlushedKey, ProgressKey, ViewerId, ProgressRow } from '../../../core/domain.ts'
import { apartIfDamaged, DamagedData } from '../../../core/outage/damaged-data.ts'
import { distinctKeys, isSettingsKey, settingsKey } from '../../../core/progress-key.ts'
import type { HotStore } from '../stores/hot-store.ts'
import type { RecordStore } from '../stores/record-store.ts'
import type { RecordPlays } from '../../../core/written-reports.ts'
import type { PublishProgress } from '../stores/progress-events.ts'

export type PersistOptions = {
  /** As in PutOptions of the hot store, since clearing a dirty mark may make an entry trimmable. */
  timelineCap: number
  /** For the days of plays. Default: DEFAULT_RULES. */
  rules?: RewardRules
  /** Maximum rows per purge statement. */
  purgeRowsMax: number
}

export type PersistReport = {
  /** Distinct progress keys. */
  keys: number
  /** Rows sent to the record store. */
  rows: number
  /** Keys, of settings too, whose content was missing in the hot store: lost or expired before it was persisted. */
  missing: number
  /** Distinct settings keys. */
  settings: number
  /** Rows removed because they were viewed before a clearing. */
  purged: number
}

export type PersistStores = {
  hot: HotStore
  records: RecordStore
  recordPlays?: RecordPlays | undefined
  publish?: PublishProgress | undefined
}

type Damage = DamagedData<ProgressKey>

/**
 * Persists these keys. Rejects with the code of the store that failed. It may be repeated, and the repetition is complete. `onDamage` gets
 * an error that names the damaged records. These stay dirty. Without `onDamage`, the step rejects with this error.
 */
export async function persistKeys(
  stores: PersistStores,
  keys: Iterable<FlushedKey>,
  options: PersistOptions,
  onDamage: (error: Damage) => void = rethrow,
): Promise<PersistReport> {
  const distinct = distinctKeys(keys)
  const progressKeys = distinct.filter((key) => !isSettingsKey(key))
  const settingsKeys = distinct.filter(isSettingsKey)
  const report: PersistReport = { keys: progressKeys.length, rows: 0, missing: 0, settings: settingsKeys.length, purged: 0 }
  if (progressKeys.length > 0) await persistProgress(stores, progressKeys, options, report, onDamage)
  if (settingsKeys.length > 0) await persistSettings(stores, settingsKeys, options, report, onDamage)
  return report
}

async function persistProgress(
  { hot, records, recordPlays, publish }: PersistStores,
  keys: readonly FlushedKey[],
  options: PersistOptions,
  report: PersistReport,
  onDamage: (error: Damage) => void,
): Promise<void> {
  const { rules = DEFAULT_RULES } = options
  const rows: ProgressRow[] = []
  const missing: ProgressKey[] = []
  const unstaged: ProgressRow[] = []
  const { readable, found } = await readReadable(keys, (some) => hot.readDirtyProgress(some), onDamage)
  found.forEach(({ key, record }, index) => {
    if (record === undefined) {
      missing.push(key)
      return
    }
    const row = { key, record }
    rows.push(row)
    if (readable[index]?.stagedOn !== playDayOf(rules, key.business, record.viewedAt)) unstaged.push(row)
  })
  // First, so that it does not wait for a record store that is down.
  if (unstaged.length > 0) await recordPlays?.(unstaged)
  if (rows.length > 0) await records.putProgress(rows)
  report.rows = rows.length
  report.missing = missing.length
  report.purged += await purgeClearedMeanwhile(hot, records, rows, missing, options)
  if (rows.length > 0) await publish?.(rows)
  await hot.clearDirty(
    rows.map(({ key, record }) => ({ key, version: record.version })),
    options.timelineCap,
  )
  if (missing.length > 0) await hot.dropDirty(missing)
}

/** Reads all keys but the damaged ones. */
async function readReadable<T>(
  keys: readonly FlushedKey[],
  read: (keys: readonly FlushedKey[]) => Promise<readonly T[]>,
  onDamage: (error: Damage) => void,
): Promise<{ readable: readonly FlushedKey[]; found: readonly T[] }> {
  const answers = await apartIfDamaged(keys, read)
  const damages = answers.filter((answer) => answer instanceof DamagedData)
  if (damages.length === 0) return { readable: keys, found: answers as readonly T[] }
  new Set(damages).forEach(onDamage)
  return {
    readable: keys.filter((_, place) => !(answers[place] instanceof DamagedData)),
    found: answers.filter((answer): answer is T => !(answer instanceof DamagedData)),
  }
}

function rethrow(error: unknown): never {
  throw error
}

/**
 * 1. This step reads a record.
 * 2. Its viewer clears the history.
 * 3. The clearing is persisted and purges the rows.
 * 4. This step writes the row. It is invisible, but it would stay.
 *
 * The watermarks are therefore read again after the write. A later clearing purges after this write.
 *
 * A key without content may be the repetition of a step that died right after its write.
 */
async function purgeClearedMeanwhile(
  hot: HotStore,
  records: RecordStore,
  rows: readonly ProgressRow[],
  missing: readonly ProgressKey[],
  options: PersistOptions,
): Promise<number> {
  const seen = [...rows, ...missing.map((key) => ({ key, record: undefined }))]
  const viewers = [...new Set(seen.map(({ key }) => key.viewer))]
  const settings = await hot.readDirtySettings(viewers)
  const clearedOf = new Map(viewers.map((viewer, index) => [viewer, settings[index]?.clearedAt ?? {}]))
  const cleared = new Map<string, { viewer: ViewerId; business: number; clearedAt: number }>()
  for (const { key, record } of seen) {
    const clearedAt = clearedOf.get(key.viewer)?.[key.business] ?? 0
    if (clearedAt > 0 && (record?.viewedAt ?? 0) <= clearedAt)
      cleared.set(`${key.business}:${key.viewer}`, { viewer: key.viewer, business: key.business, clearedAt })
  }
  let purged = 0
  for (const { viewer, business, clearedAt } of cleared.values()) {
    purged += await purgeAllCleared(records, viewer, business, clearedAt, options.purgeRowsMax)
  }
  return purged
}

async function persistSettings(
  { hot, records, publish }: PersistStores,
  keys: readonly FlushedKey[],
  options: PersistOptions,
  report: PersistReport,
  onDamage: (error: Damage) => void,
): Promise<void> {
  const readSettings = (some: readonly FlushedKey[]) => hot.readDirtySettings(some.map(({ viewer }) => viewer))
  const { readable, found: settings } = await readReadable(keys, readSettings, onDamage)
  const viewers = readable.map(({ viewer }) => viewer)
  const rows = viewers.flatMap((viewer, index) => {
    const found = settings[index]
    return found === undefined || found.version === 0 ? [] : [{ viewer, settings: found }]
  })
  await records.putSettings(rows)
  for (const { viewer, settings: stored } of rows) {
    for (const [business, clearedAt] of Object.entries(stored.clearedAt)) {
      report.purged += await purgeAllCleared(records, viewer, Number(business), clearedAt, options.purgeRowsMax)
    }
  }
  if (rows.length > 0) await publish?.(rows)
  await hot.clearDirty(
    rows.map((row) => ({ key: settingsKey(row.viewer), version: row.settings.version })),
    options.timelineCap,
  )
  const missing = viewers.filter((_, index) => (settings[index]?.version ?? 0) === 0)
  report.missing += missing.length
  if (missing.length > 0) await hot.dropDirty(missing.map(settingsKey))
}

async function purgeAllCleared(
  records: RecordStore,
  viewer: ViewerId,
  business: number,
  clearedAt: number,
  limit: number,
): Promise<number> {
  let purged = 0
  for (;;) {
    const removed = await records.purgeCleared(viewer, business, clearedAt, limit)
    purged += removed
    if (removed < limit) return purged
  }
}
