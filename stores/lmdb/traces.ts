/**
 * Removes and counts the entries of one viewer in tables of LMDB (`core/erasure/traces.ts`). Tables with the viewer first in their keys are ranges,
 * and one transaction removes them together. The others are walked in steps, and a transaction removes the found entries, if they still
 * may go: a new write of the viewer keeps its own.
 */
import type { ViewerId } from '../../core/domain.ts'
import type { Traces } from '../../core/erasure/traces.ts'
import type { Bytes, Environment } from './environment.ts'
import { visitAll, type Entry } from './scan.ts'

export type KeyRange = { start: Buffer; end: Buffer }

/** A table whose keys begin with the viewer. */
export type RangeTable = { table: Bytes; rangesOf(viewer: ViewerId): readonly KeyRange[] }

export type WalkTable = {
  table: Bytes
  /** True for an entry of the viewer. An error counts as false: the entry cannot be read. */
  isOf(entry: Entry, viewer: ViewerId): boolean
  /** Called in the transaction. False: the entry belongs to a newer write, and stays. Default: true. */
  mayRemove?(key: Buffer): boolean
  /** The value without the viewer, to be kept. Undefined, and by default: the entry is removed. */
  without?(value: Buffer, viewer: ViewerId): Buffer | undefined
}

type Failing = <T>(task: () => T | Promise<T>) => Promise<T>

const REMOVED_PER_WRITE = 2_000
/** Above every key that begins with a packed id: a business, a month or a kind, and more. */
const END = Buffer.alloc(8, 0xff)

/** All keys that begin with these bytes. */
export function rangeOf(...beginning: readonly Buffer[]): KeyRange {
  return { start: Buffer.concat(beginning), end: Buffer.concat([...beginning, END]) }
}

/** `failing` names the store in errors (`failingAs`). */
export function makeLmdbTraces(
  environment: Environment,
  failing: Failing,
  ranges: readonly RangeTable[],
  walks: readonly WalkTable[] = [],
): Traces {
  const keysIn = (viewer: ViewerId) =>
    ranges.flatMap(({ table, rangesOf }) =>
      rangesOf(viewer).flatMap((range) => Array.from(table.getKeys(range), (key) => ({ table, key: Buffer.from(key) }))),
    )

  return {
    erase: (viewer) =>
      failing(async () => {
        let removed = 0
        if (ranges.length > 0) {
          removed += await environment.writeToFree(() => {
            const found = keysIn(viewer)
            for (const { table, key } of found) void table.remove(key)
            return found.length
          })
        }
        for (const walk of walks) removed += await eraseWalked(environment, walk, viewer)
        return removed
      }),
    count: (viewer) =>
      failing(async () => {
        let found = environment.read(() => keysIn(viewer).length)
        for (const walk of walks) found += (await findWalked(environment, walk, viewer)).length
        return found
      }),
  }
}

async function findWalked(environment: Environment, { table, isOf }: WalkTable, viewer: ViewerId): Promise<Buffer[]> {
  const found: Buffer[] = []
  await visitAll(environment, table, (entry) => {
    try {
      if (isOf(entry, viewer)) found.push(Buffer.from(entry.key))
    } catch {
      // An entry that cannot be read names nobody.
    }
  })
  return found
}

async function eraseWalked(environment: Environment, walk: WalkTable, viewer: ViewerId): Promise<number> {
  const { table, mayRemove = () => true, without } = walk
  const found = await findWalked(environment, walk, viewer)
  let removed = 0
  for (let at = 0; at < found.length; at += REMOVED_PER_WRITE) {
    removed += await environment.writeToFree(() => {
      let some = 0
      for (const key of found.slice(at, at + REMOVED_PER_WRITE)) {
        const value = table.getBinary(key)
        if (value === undefined || !mayRemove(key)) continue
        const rest = without?.(Buffer.from(value), viewer)
        if (rest === undefined) void table.remove(key)
        else void table.put(key, rest)
        some += 1
      }
      return some
    })
  }
  return removed
}
