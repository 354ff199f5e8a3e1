/**
 * Backups of the distributed shape. MySQL is backed up with its own tools. This file copies what only Redis has, in this order:
 *
 * 1. Keys without a row anywhere: served subjects, flags of days, client keys, keys of events, waiting rewards, the live configuration.
 *    A client key must not be there without its post, so keys come before rows.
 * 2. Rows that no job has persisted yet, and staged plays, as an export.
 * 3. The point, a row in MySQL. A dirty mark is cleared after its row is in MySQL, so a write that was acknowledged before the backup is in
 *    1, in 2, or in MySQL before the point.
 *
 * MySQL may be restored to any moment from the point on: rows are put by guarded writes, and the newer state of a record stays. Then Redis
 * is filled from MySQL, because pages of history begin in Redis.
 */
import { createReadStream } from 'node:fs'
import { open, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Config } from '../../config/config.ts'
import { systemClock } from '../../core/clock.ts'
import { TidemarkError } from '../../core/errors.ts'
import { copyKeys, findKey, putKeys, type KeyCopy } from '../../stores/redis/key-copies.ts'
import { writeExport } from '../move/export.ts'
import { importData, inStores } from '../move/import.ts'
import { progressRowOf, settingsRowOf, type Target } from '../move/put-rows.ts'
import type { Kind, RowOf } from '../move/rows.ts'
import { sourceOf } from '../move/source.ts'
import { hotWalksOf, walksOf } from '../move/walks.ts'
import { readSettingsInEffect } from '../process/live-config.ts'
import { makeLog } from '../process/log.ts'
import type { Flags } from '../process/settings.ts'
import { openStores, type OpenStores } from '../stores/history.ts'
import { requireStopped } from '../stores/running.ts'
import { allServersOf } from '../stores/server-sets.ts'
import { openMarkRecords } from '../stores/thumbup.ts'
import { checkFile, entryOf, type Backup, type BackupFile } from './folder.ts'

const KEYS = 'keys.jsonl'
const ROWS = 'rows'
const KEYS_AT_ONCE = 200
/** The point of a backup is the offset of this stream. */
const STREAM = 'backup'
/** Keys of Redis that no row has. Names are without the prefix; `docs/reference/topics-and-tables.md` lists them. */
const ONLY_KEYS = /^(?::(?:issued|first|feed:key|counters:events):|:\{live-|\{[^}]*\}(?:r$|y))/s

export async function backupDistributed(
  config: Config,
  out: string,
  startedAt: number,
  print: (line: string) => void,
): Promise<BackupFile[]> {
  const stores = await openStores(config, systemClock, makeLog())
  try {
    await copyOnlyKeys(config, join(out, KEYS))
    const source = sourceOf(stores, config, { since: 0 }, startedAt)
    const { leftOut } = await writeExport({ out: join(out, ROWS), form: 'jsonl' }, source, hotWalksOf(source), () => {})
    if (leftOut > 0) print(`${leftOut} rows of businesses that are not configured are left out`)
    for (const records of recordsOf(stores)) await records.applyMarks([], [{ stream: STREAM, partition: 0, offset: startedAt }])
  } finally {
    await stores.close()
  }
  const rows = (await readdir(join(out, ROWS))).map((name) => `${ROWS}/${name}`)
  return Promise.all([KEYS, ...rows].map((path) => entryOf(out, path)))
}

function recordsOf({ marks, tenants }: OpenStores) {
  return new Set([marks, ...tenants.values()].map(({ records }) => records))
}

async function copyOnlyKeys({ stores }: Config, path: string): Promise<void> {
  const { redis } = stores
  if (redis === undefined) return
  const file = await open(path, 'w', 0o600)
  try {
    await copyKeys(
      redis,
      (name) => ONLY_KEYS.test(name),
      async (copies) => file.writeFile(copies.map((copy) => `${JSON.stringify(copy)}\n`).join('')),
    )
    await file.sync()
  } finally {
    await file.close()
  }
}

/** Throws STORE_NOT_EMPTY, DATA_IN_USE, DATA_DAMAGED, and DATA_INCOMPATIBLE if MySQL is older than the backup. Nothing is changed then. */
export async function restoreDistributed(
  before: Config,
  backup: Backup,
  from: string,
  flags: Flags,
  print: (line: string) => void,
): Promise<void> {
  for (const file of backup.files) await checkFile(from, file)
  await requireStopped(before)
  for (const { redis, business } of allServersOf(before)) if (redis !== undefined) await requireEmpty(redis, business)
  await requirePoint(before, backup)
  const redis = before.stores.redis as NonNullable<Config['stores']['redis']>
  for await (const copies of copiesIn(join(from, KEYS))) await putKeys(redis, copies)
  // The live configuration is there now.
  const config = await readSettingsInEffect(flags)
  const rows = await inStores(config, undefined, fillHot)
  print(`${rows} rows of MySQL are in Redis again`)
  if (await importData(join(from, ROWS), { ...flags, verify: true }, print)) return
  const message = `rows of ${from} are wrong or missing: correct the configuration, empty Redis, and run the command again`
  throw new TidemarkError('DATA_INCOMPATIBLE', message)
}

async function requireEmpty(redis: NonNullable<Config['stores']['redis']>, business: string | undefined): Promise<void> {
  const key = await findKey(redis)
  if (key === undefined) return
  const owner = business === undefined ? '' : ` of business "${business}"`
  throw new TidemarkError(
    'STORE_NOT_EMPTY',
    `Redis at ${redis.urls.join(',').replaceAll(/\/\/[^@/]*@/g, '//')}${owner} has data (such as ${key}), which a restore does not replace: empty it with FLUSHDB if you do not need it`,
  )
}

/** Every record store must have the point of the backup. */
async function requirePoint(config: Config, { startedAt }: Backup): Promise<void> {
  const records = await openMarkRecords(config, systemClock)
  try {
    for (const { number, name } of config.businesses) {
      const [point] = await records.of(number).getOffsets(STREAM)
      if ((point?.offset ?? 0) >= startedAt) continue
      const found = point === undefined ? 'no backup' : `the backup of ${new Date(point.offset).toISOString()}`
      throw new TidemarkError(
        'DATA_INCOMPATIBLE',
        `MySQL of business "${name}" knows ${found}, and this backup is of ${new Date(startedAt).toISOString()}: restore MySQL to a later moment, with its binary log`,
      )
    }
  } finally {
    await records.close()
  }
}

async function* copiesIn(path: string): AsyncGenerator<KeyCopy[]> {
  let copies: KeyCopy[] = []
  for await (const line of createInterface(createReadStream(path))) {
    copies.push(JSON.parse(line) as KeyCopy)
    if (copies.length === KEYS_AT_ONCE) {
      yield copies
      copies = []
    }
  }
  if (copies.length > 0) yield copies
}

/** Puts settings and progress of MySQL into Redis. Other data is loaded from MySQL when it is needed. Returns the number of rows. */
async function fillHot(target: Target): Promise<number> {
  const { hot, timelineCap, now } = target.history
  const walks = walksOf(sourceOf(target.stores, target.config, {}, target.clock.now()))
  let count = 0
  async function each<K extends Kind>(kind: K, put: (rows: RowOf<K>[]) => Promise<void>): Promise<void> {
    for await (const page of walks.find(({ name }) => name === kind)?.pages(undefined) ?? []) {
      const rows: unknown[] = page.rows
      await put(rows as RowOf<K>[])
      count += rows.length
    }
  }
  await each('settings', (rows) =>
    hot.fillSettings(
      rows.map((row) => settingsRowOf(target, row)),
      now(),
    ),
  )
  await each('progress', (rows) =>
    hot.fillProgress(
      rows.map((row) => progressRowOf(target, row)),
      { now: now(), timelineCap },
    ),
  )
  return count
}
