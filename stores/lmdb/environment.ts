/**
 * One LMDB environment holds the three embedded stores: a file in the data folder, shared by all processes that open it.
 *
 * Writes. `write` runs its action in a child transaction and resolves when it is on disk. Actions of one event turn, and those that arrive
 * while the disk is busy, share one parent transaction and one flush; that is the group commit. An action that throws is rolled back and
 * fails alone. Actions run one after the other under LMDB's writer lock, which holds across processes. They read the newest state, so
 * counters and sequences need no other guard.
 *
 * Two options of the library are off. `overlappingSync`: without it a commit *is* the flush (in groups the cost is not measurable), and
 * after a power failure the file is the last commit, by LMDB's own protocol. `eventTurnBatching`: with it, a commit that fails because the
 * disk is full also rejects a promise that no caller holds, which ends the process. Transactions of one turn are grouped without it too.
 *
 * Reads. The library keeps one read transaction and renews it by a timer. Two reads of one event turn would see the same state, even if
 * another process committed and acknowledged in between. `read` renews it first, since acknowledged writes are readable in every process.
 * The library's caches are off for the same reason.
 *
 * Keys and values are bytes. Local disks only: LMDB does not work on network file systems.
 */
import { join } from 'node:path'
import { open, type Database, type RootDatabase, type RootDatabaseOptionsWithPath } from 'lmdb'
import { TidemarkError, isTidemarkError } from '../../core/errors.ts'
import { fullReasonOf, openFailure } from './failures.ts'
import { checkDataFile, markClosed, markOpened } from './file-check/check-file.ts'
import { FILE_MODE, makeDataFolder } from './make-folder.ts'
import { makeRoom } from './room.ts'

export type EnvironmentOptions = {
  /** Number of regions of the deployment; stored at first open, and another number is rejected. */
  regions: number
  /** Maximum size of the tables, in GB (2^30 bytes). Writes beyond it fail with STORE_FULL; no disk space is reserved. */
  sizeMaxGb: number
}

export type Bytes = Database<Buffer, Buffer>

export type Environment = {
  readonly folder: string
  readonly regions: number
  /** 0 to regions - 1: the one consumer of a log owns them all. */
  readonly allRegions: readonly number[]
  /** Opens a named table; opening it again is harmless. */
  table(name: string): Bytes
  /** Runs the action atomically, with everything it reads and writes. Resolves with its result when that is on disk. */
  write<T>(action: () => T): Promise<T>
  /** For actions that remove more than they add: they are allowed when the store is full. */
  writeToFree<T>(action: () => T): Promise<T>
  /** Runs the action on the newest state of all processes. */
  read<T>(action: () => T): T
  /** True while writes are refused for lack of room; reads work. */
  isFull(): boolean
  /** Waits for pending writes, then closes. Idempotent. */
  close(): Promise<void>
}

export const DATA_FILE = 'tidemark.mdb'
const FORMAT = '1'
const TABLES_MAX = 64
/** Initial address space; the library maps more when the file outgrows it. */
const MAP_BYTES_MAX = 2 ** 40
/** LMDB's default limit for readers is 126: one per process and thread. */
export const READERS_MAX = 512
/**
 * Entries of LMDB's list of free pages that may stay in memory after a commit. A longer list is dropped, and later commits load entries from the
 * file. Each child transaction copies the list, and each commit sorts it again to check it. The library's default is 75,000
 * (docs/decisions/0111-growth-in-turn.md).
 */
const FREE_LIST_MAX = 500

/**
 * Throws DATA_INCOMPATIBLE if the folder was written with another region count or format, DATA_DAMAGED if its file is damaged, STORE_FULL
 * if its disk is full, and CONFIG_INVALID if it cannot be written.
 */
export function openEnvironment(folder: string, options: EnvironmentOptions): Environment {
  makeDataFolder(folder)
  const file = join(folder, DATA_FILE)
  checkDataFile(file)
  const bytesMax = Math.ceil(options.sizeMaxGb * 2 ** 30)
  const root = openFile(folder, file, Math.min(bytesMax, MAP_BYTES_MAX))
  const tables = new Map<string, Bytes>()
  const room = makeRoom(folder, bytesMax, () => tables.values())
  let closing: Promise<void> | undefined

  function assertOpen(): void {
    if (closing !== undefined) throw new Error('they are closed')
  }

  function table(name: string): Bytes {
    assertOpen()
    const found = tables.get(name)
    if (found !== undefined) return found
    const opened: Bytes = root.openDB({ name, encoding: 'binary', keyEncoding: 'binary' })
    tables.set(name, opened)
    return opened
  }

  async function write<T>(action: () => T): Promise<T> {
    assertOpen()
    room.assert()
    return commit(action)
  }

  async function writeToFree<T>(action: () => T): Promise<T> {
    assertOpen()
    room.assertTaken()
    return commit(action)
  }

  async function commit<T>(action: () => T): Promise<T> {
    try {
      return await root.childTransaction(action)
    } catch (error) {
      const reason = isTidemarkError(error) ? undefined : await fullReasonOf(folder, error)
      if (reason !== undefined) room.refused(reason)
      throw error
    }
  }

  function read<T>(action: () => T): T {
    assertOpen()
    root.resetReadTxn()
    return action()
  }

  function close(): Promise<void> {
    closing ??= root.close().then(() => markClosed(file))
    return closing
  }

  try {
    root.transactionSync(() => checkOrigin(table('meta'), folder, options.regions))
    markOpened(file)
  } catch (error) {
    void root.close()
    throw openFailure(folder, error)
  }
  const allRegions = Array.from({ length: options.regions }, (_, region) => region)
  return { folder, regions: options.regions, allRegions, table, write, writeToFree, read, isFull: room.isFull, close }
}

type OpenOptions = RootDatabaseOptionsWithPath & { permissionsMode: number; keyEncoding: 'binary'; maxFreeSpaceToRetain: number }

function openFile(folder: string, path: string, mapSize: number): RootDatabase<Buffer, Buffer> {
  // The library's types lack the file mode and `maxFreeSpaceToRetain`.
  const options: OpenOptions = {
    path,
    mapSize,
    maxDbs: TABLES_MAX,
    maxReaders: READERS_MAX,
    overlappingSync: false,
    eventTurnBatching: false,
    encoding: 'binary',
    keyEncoding: 'binary',
    permissionsMode: FILE_MODE,
    maxFreeSpaceToRetain: FREE_LIST_MAX,
  }
  try {
    return open(options)
  } catch (error) {
    throw openFailure(folder, error)
  }
}

function checkOrigin(meta: Bytes, folder: string, regions: number): void {
  const format = readOrSet(meta, 'format', FORMAT)
  if (format !== FORMAT) {
    throw new TidemarkError(
      'DATA_INCOMPATIBLE',
      `${folder} was written in format ${format}, this version reads ${FORMAT}: use the version that wrote it, or another folder`,
    )
  }
  const written = readOrSet(meta, 'regions', String(regions))
  if (written !== String(regions)) {
    throw new TidemarkError(
      'DATA_INCOMPATIBLE',
      `${folder} was written with ${written} regions, not ${regions}: set stores.regions to ${written}, or use another folder`,
    )
  }
}

function readOrSet(meta: Bytes, name: string, value: string): string {
  const key = Buffer.from(name)
  const found = meta.getBinary(key)
  if (found !== undefined) return Buffer.from(found).toString()
  meta.putSync(key, Buffer.from(value))
  return value
}
