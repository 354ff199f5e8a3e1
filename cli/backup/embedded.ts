/**
 * Backups of the embedded shape. A data folder has one file with all stores, and the file is copied as of one transaction. So the copy is
 * consistent, whatever the service writes meanwhile. A business with stores of its own has another file, and shares no data with the first.
 *
 * A restore copies all files beside their places, checks them, and then renames them. Before that the folders have no data.
 */
import { existsSync } from 'node:fs'
import { copyFile, readdir, rename, rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import type { Config } from '../../config/config.ts'
import { TidemarkError } from '../../core/errors.ts'
import { DATA_FILE } from '../../stores/lmdb/environment.ts'
import { checkDataFile, markClosed } from '../../stores/lmdb/file-check/check-file.ts'
import { lockDataFolder } from '../../stores/lmdb/folder-lock.ts'
import { copyLivePages, syncPath } from '../../stores/lmdb/live-copy.ts'
import { makeFolder } from '../../stores/lmdb/make-folder.ts'
import { tenantsOf } from '../stores/thumbup.ts'
import { checkFile, copyOut, entryOf, explained, type Backup, type BackupFile } from './folder.ts'

/** Folders of small files in the data folder. */
const SMALL = ['live', 'erasures']

/** Paths of data files in a backup, and their folders. The data folder is last: a restore that is interrupted leaves it without data. */
function placesOf(config: Config): Map<string, string> {
  const tenants = tenantsOf(config).map(
    ({ number, thumbup }) => [`business-${number}/${DATA_FILE}`, thumbup.stores?.data as string] as const,
  )
  return new Map([...tenants, [DATA_FILE, config.stores.data]])
}

/** Copies the data files and the small files, and returns their entries. */
export async function backupEmbedded(config: Config, out: string): Promise<BackupFile[]> {
  const files: BackupFile[] = []
  for (const [path, folder] of placesOf(config)) {
    const file = join(folder, DATA_FILE)
    if (!existsSync(file))
      throw new TidemarkError('CONFIG_INVALID', `${folder} has no ${DATA_FILE}: name the data folder of a service with --data`)
    makeFolder(dirname(join(out, path)), 0o700)
    await copyLivePages(file, join(out, path))
    checkDataFile(join(out, path))
    files.push(await entryOf(out, path))
  }
  for (const name of SMALL) {
    const from = join(config.stores.data, name)
    for (const each of existsSync(from) ? await readdir(from) : []) {
      if (!each.endsWith('.json')) continue
      makeFolder(join(out, name), 0o700)
      await copyFile(join(from, each), join(out, name, each))
      files.push(await entryOf(out, `${name}/${each}`))
    }
  }
  return files
}

/** Throws STORE_NOT_EMPTY if a folder has data, and DATA_DAMAGED. Nothing is restored then. */
export async function restoreEmbedded(config: Config, backup: Backup, from: string): Promise<void> {
  const places = placesOf(config)
  requireSamePlaces(places, backup)
  const { data } = config.stores
  const lock = lockDataFolder(data)
  const drafts = new Map<string, string>()
  try {
    for (const folder of places.values()) requireEmpty(folder)
    for (const file of backup.files) await checkFile(from, file)
    for (const file of backup.files) {
      const folder = places.get(file.path)
      const place = folder === undefined ? join(data, file.path) : join(folder, DATA_FILE)
      // Reports of erasures, and versions of the configuration, may have outlived the stores.
      if (folder === undefined && existsSync(place)) continue
      drafts.set(`${place}.restoring`, place)
      await explained(dirname(place), 'name another folder with --data', () => copyOut(from, file, `${place}.restoring`))
      if (folder !== undefined) checkDataFile(`${place}.restoring`)
    }
    for (const [draft, place] of inOrder(drafts, join(data, DATA_FILE))) {
      await rename(draft, place)
      syncPath(dirname(place))
      if (basename(place) === DATA_FILE) markClosed(place)
    }
  } finally {
    for (const draft of drafts.keys()) await rm(draft, { force: true })
    lock.release()
  }
}

function inOrder(drafts: ReadonlyMap<string, string>, last: string): [string, string][] {
  return [...drafts].toSorted(([, one], [, other]) => Number(one === last) - Number(other === last))
}

function requireSamePlaces(places: ReadonlyMap<string, string>, { files }: Backup): void {
  const inBackup = files.flatMap(({ path }) => (basename(path) === DATA_FILE ? [path] : []))
  const unknown = inBackup.find((path) => !places.has(path))
  if (unknown !== undefined)
    throw new TidemarkError(
      'CONFIG_INVALID',
      `the backup has ${unknown}, and the configuration gives that business no data folder: set thumbup.stores.data of business ${numberIn(unknown)}`,
    )
  const missing = [...places.keys()].find((path) => !inBackup.includes(path))
  if (missing !== undefined)
    throw new TidemarkError(
      'CONFIG_INVALID',
      `the backup has no ${missing}: take thumbup.stores.data of business ${numberIn(missing)} out of the configuration, as it was when the backup was made`,
    )
}

const numberIn = (path: string): string => /\d+/.exec(path)?.[0] ?? ''

function requireEmpty(folder: string): void {
  if (!existsSync(join(folder, DATA_FILE))) return
  throw new TidemarkError(
    'STORE_NOT_EMPTY',
    `${folder} has data already (${DATA_FILE}), which a restore does not replace: move the folder away, or name another one with --data`,
  )
}
