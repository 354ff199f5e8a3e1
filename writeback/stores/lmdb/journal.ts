/**
 * Journals on LMDB: a small environment each, in `journal-0`, `journal-1` … of the data folder. A process takes the first journal without a
 * living owner and keeps its lock. The kernel releases the lock however the process ends. Two processes therefore never share a journal. A
 * restarted process finds the journal of its predecessor, and a neighbour adopts the journal of a dead process. Folders stay: removing one
 * could take it from a process that is locking it.
 *
 *     entries   number (u64)   format (1 byte) · JSON of the entry
 *     parked    number (u64)   the reason as a line of JSON · the bytes as they were
 *
 * An operator may read a journal, and put parked entries back, while its process runs: LMDB lets several processes write. An entry that is
 * put back has its old number, which no other entry uses.
 */
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { isTidemarkError } from '../../../core/errors.ts'
import { parseEntry } from '../../journal-entry.ts'
import type { Journal, Journaled, Journals, JournalView } from '../../journal.ts'
import { openEnvironment, type Bytes } from '../../../stores/lmdb/environment.ts'
import { failingAs } from '../../../stores/lmdb/failures.ts'
import { lockDataFolder, type FolderLock } from '../../../stores/lmdb/folder-lock.ts'
import { openJournalTraces } from './traces.ts'

export type LmdbJournalsOptions = {
  /** Further folders whose journals have no process any more. Their waiting entries are adopted too. */
  abandoned?: readonly string[]
  /** Maximum size of a journal in GB: address space, not disk. Default 16. */
  sizeMaxGb?: number
}

const FORMAT = 1
const NAME = /^journal-(\d+)$/
/** Journals have no regions: a replay computes them. */
const REGIONS = 1
const NEW_LINE = 0x0a
const NO_LOCK: FolderLock = { release: () => undefined }

/** Throws the file system's error if the folder cannot be written. */
export function openLmdbJournals(data: string, options: LmdbJournalsOptions = {}): Journals {
  const { sizeMaxGb = 16, abandoned = [] } = options
  const openIn = (parent: string, name: string): Journal | undefined => {
    const folder = join(parent, name)
    const lock = lockIfFree(folder)
    if (lock === undefined) return undefined
    try {
      return openJournal(folder, lock, sizeMaxGb)
    } catch (error) {
      lock.release()
      throw error
    }
  }
  const own = openFirstFree((name) => openIn(data, name))
  return {
    own,
    async adopt() {
      let damage: unknown
      for (const parent of [data, ...abandoned]) {
        for (const name of journalNames(parent)) {
          let journal: Journal | undefined
          try {
            journal = openIn(parent, name)
          } catch (error) {
            // A journal that cannot be opened must not delay the others.
            damage ??= error
          }
          if (journal === undefined) continue
          if ((await journal.count()).waiting > 0) return journal
          await journal.close()
        }
      }
      if (damage !== undefined) throw damage
      return undefined
    },
    close: () => own.close(),
  }
}

/** All journals of a data folder, including those in use. It creates none. */
export function viewLmdbJournals(data: string, options: LmdbJournalsOptions = {}): JournalView[] {
  const { sizeMaxGb = 16 } = options
  return journalNames(data).map((name) => ({ name, ...openJournal(join(data, name), NO_LOCK, sizeMaxGb) }))
}

function journalNames(data: string): string[] {
  const names = existsSync(data) ? readdirSync(data).filter((name) => NAME.test(name)) : []
  return names.sort((a, b) => numberIn(a) - numberIn(b))
}

function numberIn(name: string): number {
  return Number(NAME.exec(name)?.[1])
}

function openFirstFree(open: (name: string) => Journal | undefined): Journal {
  for (let number = 0; ; number++) {
    const journal = open(`journal-${number}`)
    if (journal !== undefined) return journal
  }
}

function lockIfFree(folder: string): FolderLock | undefined {
  try {
    return lockDataFolder(folder)
  } catch (error) {
    if (isTidemarkError(error) && error.code === 'DATA_IN_USE') return undefined
    throw error
  }
}

function openJournal(folder: string, lock: FolderLock, sizeMaxGb: number): Journal & Pick<JournalView, 'traces'> {
  const environment = openEnvironment(folder, { regions: REGIONS, sizeMaxGb })
  const entries = environment.table('entries')
  const parked = environment.table('parked')
  const failing = <T>(task: () => T | Promise<T>): Promise<T> => failingAs('HOT_STORE_UNAVAILABLE', folder, task)
  const leftUntil = lastNumber(entries)
  let next = Math.max(leftUntil, lastNumber(parked)) + 1
  let closing: Promise<void> | undefined

  return {
    leftUntil,
    traces: openJournalTraces(environment),
    append(added) {
      const rows = added.map((entry) => ({
        key: keyOf(next++),
        value: Buffer.concat([Buffer.of(FORMAT), Buffer.from(JSON.stringify(entry))]),
      }))
      return failing(() =>
        environment.write(() => {
          for (const { key, value } of rows) void entries.put(key, value)
        }),
      )
    },
    list: (after, limit) =>
      failing(() =>
        environment.read(() => Array.from(entries.getRange({ start: keyOf(after + 1), limit }), ({ key, value }) => decode(key, value))),
      ),
    remove: (numbers) =>
      failing(() =>
        environment.writeToFree(() => {
          for (const number of numbers) void entries.remove(keyOf(number))
        }),
      ),
    park: (number, reason) =>
      failing(() =>
        environment.writeToFree(() => {
          const value = entries.getBinary(keyOf(number))
          if (value === undefined) return
          void parked.put(keyOf(number), Buffer.concat([Buffer.from(`${JSON.stringify(reason)}\n`), value]))
          void entries.remove(keyOf(number))
        }),
      ),
    listParked: () =>
      failing(() =>
        environment.read(() =>
          Array.from(parked.getRange({}), ({ key, value }) => {
            const { reason, bytes } = splitParked(value)
            return { ...decode(key, bytes), reason }
          }),
        ),
      ),
    putBack: (numbers) =>
      failing(() =>
        environment.write(() =>
          numbers.filter((number) => {
            const value = parked.getBinary(keyOf(number))
            if (value === undefined) return false
            void entries.put(keyOf(number), splitParked(value).bytes)
            void parked.remove(keyOf(number))
            return true
          }),
        ),
      ),
    count: () => failing(() => environment.read(() => ({ waiting: countOf(entries), parked: countOf(parked) }))),
    close() {
      closing ??= environment.close().finally(() => lock.release())
      return closing
    },
  }
}

function keyOf(number: number): Buffer {
  const key = Buffer.allocUnsafeSlow(8)
  key.writeBigUInt64BE(BigInt(number))
  return key
}

function countOf(table: Bytes): number {
  return (table.getStats() as { entryCount: number }).entryCount
}

function lastNumber(table: Bytes): number {
  for (const key of table.getKeys({ reverse: true, limit: 1 })) return Number(key.readBigUInt64BE())
  return 0
}

function decode(key: Buffer, value: Buffer): Journaled {
  const number = Number(key.readBigUInt64BE())
  if (value[0] !== FORMAT) return { number, unreadable: `it has format ${value[0]}, and this version reads ${FORMAT}` }
  try {
    return { number, entry: parseEntry(value.toString('utf8', 1)) }
  } catch (error) {
    return { number, unreadable: error instanceof Error ? error.message : String(error) }
  }
}

function splitParked(value: Buffer): { reason: string; bytes: Buffer } {
  const end = value.indexOf(NEW_LINE)
  // The value is in LMDB's memory, which the next write may reuse.
  return { reason: JSON.parse(value.toString('utf8', 0, end)) as string, bytes: Buffer.from(value.subarray(end + 1)) }
}
