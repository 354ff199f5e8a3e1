/**
 * `tidemark import` reads an export (`folder.ts`) into the stores of the configuration, whatever shape the export is from.
 *
 * 1. All files are checked before the first row is written: their checksums, and each row. With a wrong row nothing is imported, unless
 *    `--skip-wrong` leaves such rows out.
 * 2. Rows are put kind by kind, by guarded writes: of two states of a record the newer one stays. So an import may be repeated, and an
 *    interrupted one is run again. With `--resume`, it leaves out the files that were complete.
 * 3. With `--verify`, each row is read again from the record stores.
 *
 * No process of the target may run: caches of the feed, and timelines of follows, do not learn of the rows.
 */
import { systemClock } from '../../core/clock.ts'
import { postBusinessOf } from '../../config/feed.ts'
import type { Config } from '../../config/config.ts'
import { TidemarkError } from '../../core/errors.ts'
import { chunked } from '../../stores/chunks.ts'
import { lockDataFolder } from '../../stores/lmdb/folder-lock.ts'
import { makePostTally, type PostTally } from '../../subgraphs/feed/counters/post-tally.ts'
import { readSettingsInEffect } from '../process/live-config.ts'
import { makeLog } from '../process/log.ts'
import type { Flags } from '../process/settings.ts'
import { openStores } from '../stores/history.ts'
import { requireStopped } from '../stores/running.ts'
import { checkRows, type CheckedRows } from './check-rows.ts'
import { FOUND, compareRows, type Found } from './compare.ts'
import { decodeRows } from './encoding.ts'
import { readFileOf, readManifest, type ExportFile, type Manifest } from './folder.ts'
import { makePace } from './pace.ts'
import { persistWaiting } from './put-history.ts'
import { postOf, putRows, putUncounted, targetOf, type Target } from './put-rows.ts'
import { keepImported } from './imported-files.ts'
import { KINDS, type Kind, type RowOf } from './rows.ts'

export type ImportFlags = Flags & { check?: boolean; verify?: boolean; skipWrong?: boolean; rate?: number; resume?: string }

const ROWS_AT_ONCE = 1_000
const MISTAKES_SHOWN = 20

/** Resolves to false if rows are wrong and nothing was imported, or if a verification found a difference. */
export async function importData(folder: string, flags: ImportFlags, print: (line: string) => void): Promise<boolean> {
  const config = await readSettingsInEffect(flags)
  const manifest = completeManifest(folder)
  const { rows, wrong, tally } = await checkAll(folder, manifest, config, print)
  if (wrong > 0 && flags.skipWrong !== true) {
    print(`${rows} rows are good and ${wrong} are wrong: nothing was imported; correct them, or leave them out with --skip-wrong`)
    return false
  }
  if (flags.check === true) {
    print(`${rows} rows in ${manifest.files.length} files are good`)
    return true
  }
  return inStores(config, tally, async (target) => {
    await putAll(target, folder, manifest, flags)
    print(`${rows} rows imported${wrong === 0 ? '' : `, and ${wrong} wrong rows left out`}`)
    return flags.verify !== true || (await verifyAll(target, folder, manifest, print))
  })
}

/** Opens the stores while no process of the target runs. */
export async function inStores<T>(config: Config, tally: PostTally | undefined, act: (target: Target) => Promise<T>): Promise<T> {
  await requireStopped(config)
  const lock = config.stores.redis === undefined ? lockDataFolder(config.stores.data) : undefined
  try {
    const stores = await openStores(config, systemClock, makeLog())
    try {
      return await act(targetOf(stores, config, systemClock, tally))
    } finally {
      await stores.close()
    }
  } finally {
    lock?.release()
  }
}

export function completeManifest(folder: string): Manifest {
  const found = readManifest(folder)
  if (found === undefined) throw new TidemarkError('CONFIG_INVALID', `${folder} has no export: name the folder of "tidemark export"`)
  if (!found.isComplete)
    throw new TidemarkError('CONFIG_INVALID', `the export in ${folder} was interrupted: run "tidemark export" again to complete it`)
  return found.manifest
}

/** Reads everything once. The tally has the counts of a whole export of the feed. */
async function checkAll(folder: string, manifest: Manifest, config: Config, print: (line: string) => void) {
  const posts = postBusinessOf(config)
  const { viewer, since } = manifest.selection
  const tally = posts !== undefined && viewer === undefined && since === undefined ? makePostTally(posts.number) : undefined
  const counted = new Set<string>()
  let rows = 0
  let wrong = 0
  for (const file of inOrder(manifest)) {
    const checked = await readChecked(folder, manifest, file, config)
    rows += checked.good.length
    for (const { line, mistake } of checked.wrong) {
      wrong += 1
      if (wrong <= MISTAKES_SHOWN) print(`${file.name}:${line}: ${mistake}`)
    }
    if (file.kind !== 'post' || tally === undefined) continue
    for (const row of checked.good as RowOf<'post'>[]) {
      // A post may be in two walks.
      if (!counted.has(row.id) && !row.deleted) tally.add(postOf(row))
      counted.add(row.id)
    }
  }
  if (wrong > MISTAKES_SHOWN) print(`… and ${wrong - MISTAKES_SHOWN} further wrong rows`)
  return { rows, wrong, tally }
}

function inOrder({ files }: Manifest): ExportFile[] {
  return files.toSorted((a, b) => KINDS.indexOf(a.kind) - KINDS.indexOf(b.kind))
}

async function readChecked(folder: string, { form }: Manifest, file: ExportFile, config: Config): Promise<CheckedRows> {
  const bytes = await readFileOf(folder, file)
  return checkRows(file.kind, await decodeRows(form, file.kind, bytes, file.name), config)
}

async function putAll(target: Target, folder: string, manifest: Manifest, { resume, rate }: ImportFlags): Promise<void> {
  const imported = keepImported(resume, manifest)
  const pace = makePace(systemClock, rate)
  await persistWaiting(target.history)
  for (const file of inOrder(manifest)) {
    if (imported.has(file)) continue
    const { good } = await readChecked(folder, manifest, file, target.config)
    for (const rows of chunked(good, ROWS_AT_ONCE)) {
      await putRows(target, file.kind, rows)
      await pace(rows.length)
    }
    imported.add(file)
  }
  if (target.stores.feed !== undefined) await putUncounted(target)
}

/** True if each row is in the stores, or a newer state of it. */
async function verifyAll(target: Target, folder: string, manifest: Manifest, print: (line: string) => void): Promise<boolean> {
  const sums = new Map<Kind, Record<Found, number>>()
  for (const file of inOrder(manifest)) {
    const { good } = await readChecked(folder, manifest, file, target.config)
    const sum = sums.get(file.kind) ?? { equal: 0, newer: 0, missing: 0, different: 0 }
    sums.set(file.kind, sum)
    for (const rows of chunked(good, ROWS_AT_ONCE)) for (const found of await compareRows(target, file.kind, rows)) sum[found] += 1
  }
  for (const [kind, sum] of sums) print(`${kind.padEnd(12)}${FOUND.map((found) => `${sum[found]} ${found}`).join(', ')}`)
  return [...sums.values()].every(({ missing, different }) => missing + different === 0)
}
