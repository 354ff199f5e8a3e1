/**
 * The folder of a backup:
 *
 *     backup.json              the manifest with the checksum of each file, written last: its presence says that the backup is complete
 *     tidemark.mdb             embedded: the stores
 *     business-2/tidemark.mdb  embedded: the stores of business 2, if it has its own
 *     live/, erasures/         embedded: versions of the live configuration, and reports of erasures
 *     keys.jsonl               distributed: keys of Redis that have no rows
 *     rows/                    distributed: rows that only Redis has, as an export
 */
import { createHash } from 'node:crypto'
import { createReadStream, existsSync, readFileSync } from 'node:fs'
import { chmod, open, readdir, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { z } from 'zod'
import { TidemarkError, isTidemarkError } from '../../core/errors.ts'
import { FILE_MODE, makeFolder } from '../../stores/lmdb/make-folder.ts'

export const FORMAT = 1
const MANIFEST = 'backup.json'
const FOLDER_MODE = 0o700
const COPY_BYTES = 2 ** 20

const count = z.number().int().min(0)
const file = z.object({ path: z.string().regex(/^(?:\w[\w.-]*\/)?\w[\w.-]*$/), bytes: count, sha256: z.string().regex(/^[0-9a-f]{64}$/) })
const manifestSchema = z.object({
  format: z.literal(FORMAT),
  shape: z.enum(['embedded', 'distributed']),
  regions: count,
  /** Milliseconds since the epoch. Every write that was acknowledged before is in the backup. The distributed shape: also the point in MySQL. */
  startedAt: count,
  files: z.array(file),
})

export type Backup = z.infer<typeof manifestSchema>
export type BackupFile = z.infer<typeof file>

/** Throws CONFIG_INVALID if there is no complete backup, DATA_DAMAGED and DATA_INCOMPATIBLE for a manifest that cannot be read. */
export function readBackup(folder: string): Backup {
  const path = join(folder, MANIFEST)
  if (!existsSync(path)) {
    const reason = existsSync(folder) ? 'has no backup.json, so it is not a backup, or the backup was interrupted' : 'does not exist'
    throw new TidemarkError('CONFIG_INVALID', `${folder} ${reason}: name the folder of a complete "tidemark backup"`)
  }
  const content = jsonOf(path)
  const format = (content as { format?: unknown } | undefined)?.format
  if (typeof format === 'number' && format !== FORMAT)
    throw new TidemarkError(
      'DATA_INCOMPATIBLE',
      `${path} has format ${format}, and this version reads ${FORMAT}: use the version that wrote it`,
    )
  const parsed = manifestSchema.safeParse(content)
  if (parsed.success) return parsed.data
  throw new TidemarkError('DATA_DAMAGED', `${path} is not the manifest of a backup: restore another backup`)
}

function jsonOf(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, 'utf8'))
  } catch {
    return undefined
  }
}

/**
 * Makes the folder, runs `fill`, and writes its manifest. After an error the folder has nothing of this backup. Throws CONFIG_INVALID if it
 * is not empty, and STORE_FULL if its disk is full.
 */
export async function makeBackup(folder: string, fill: () => Promise<Omit<Backup, 'format'>>): Promise<Backup> {
  return explained(folder, 'name another folder with --out', async () => {
    makeFolder(folder, FOLDER_MODE)
    const [first] = await readdir(folder)
    if (first !== undefined)
      throw new TidemarkError(
        'CONFIG_INVALID',
        `${folder} is not empty (it has ${first}), and is left as it is: name a new folder with --out, or remove this one`,
      )
    try {
      const backup: Backup = { format: FORMAT, ...(await fill()) }
      await writeSynced(join(folder, MANIFEST), Buffer.from(`${JSON.stringify(backup, undefined, 2)}\n`))
      return backup
    } catch (error) {
      for (const name of await readdir(folder)) await rm(join(folder, name), { recursive: true, force: true })
      throw error
    }
  })
}

export async function writeSynced(path: string, bytes: Buffer): Promise<void> {
  const draft = `${path}.draft`
  const handle = await open(draft, 'w', FILE_MODE)
  try {
    await handle.writeFile(bytes)
    await handle.sync()
  } finally {
    await handle.close()
  }
  await rename(draft, path)
}

/** The entry of a file that is in the folder. */
export async function entryOf(folder: string, path: string): Promise<BackupFile> {
  const hash = createHash('sha256')
  let bytes = 0
  for await (const chunk of createReadStream(join(folder, path), { highWaterMark: COPY_BYTES })) {
    hash.update(chunk as Buffer)
    bytes += (chunk as Buffer).length
  }
  return { path, bytes, sha256: hash.digest('hex') }
}

/** Throws DATA_DAMAGED unless the file is as the manifest says. */
export async function checkFile(folder: string, expected: BackupFile): Promise<void> {
  const path = join(folder, expected.path)
  if (!existsSync(path)) throw damaged(`${path} is missing`)
  const { bytes, sha256 } = await entryOf(folder, expected.path)
  if (bytes !== expected.bytes) throw damaged(`${path} has ${bytes} bytes instead of ${expected.bytes}`)
  if (sha256 !== expected.sha256) throw damaged(`the checksum of ${path} does not match its bytes`)
}

function damaged(what: string): TidemarkError {
  return new TidemarkError('DATA_DAMAGED', `${what}: copy the backup again, or restore another one; nothing was restored`)
}

/** Copies a file of the backup. The copy is synced, and has the bytes that the manifest says. */
export async function copyOut(folder: string, expected: BackupFile, to: string): Promise<void> {
  makeFolder(dirname(to), FOLDER_MODE)
  const handle = await open(to, 'w', FILE_MODE)
  const hash = createHash('sha256')
  try {
    for await (const chunk of createReadStream(join(folder, expected.path), { highWaterMark: COPY_BYTES })) {
      hash.update(chunk as Buffer)
      await handle.writeFile(chunk as Buffer)
    }
    await handle.sync()
  } finally {
    await handle.close()
  }
  if (hash.digest('hex') !== expected.sha256) throw damaged(`the checksum of ${join(folder, expected.path)} does not match its bytes`)
  await chmod(to, FILE_MODE)
}

/** Errors of the disk as STORE_FULL or CONFIG_INVALID. `remedy`: for a folder that cannot be used. */
export async function explained<T>(folder: string, remedy: string, act: () => Promise<T>): Promise<T> {
  try {
    return await act()
  } catch (error) {
    if (isTidemarkError(error) || !(error instanceof Error)) throw error
    const { message } = error
    if (/ENOSPC|EDQUOT|EFBIG|No space left|quota exceeded|File too large/i.test(message))
      throw new TidemarkError('STORE_FULL', `the disk of ${folder} is full (${message}): free space, and run the command again`, {
        cause: error,
      })
    if (!('syscall' in error)) throw error
    throw new TidemarkError('CONFIG_INVALID', `${folder} cannot be used (${message}): ${remedy}`, { cause: error })
  }
}
