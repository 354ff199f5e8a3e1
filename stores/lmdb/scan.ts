/**
 * Iterates over a whole table in steps, for long work that must not block the process. Each step reads a few thousand entries, then yields
 * to the event loop. A scan remembers its position and is not a snapshot: it sees entries written behind it only in the next round.
 */
import { setImmediate } from 'node:timers/promises'
import type { Bytes, Environment } from './environment.ts'

const STEP_ENTRIES = 2_000
const AFTER = Buffer.from([0])

export type Entry = { key: Buffer; value: Buffer }

/** The number of entries of a table. LMDB keeps the count, so no scan is needed. */
export function countEntries(table: Bytes): number {
  const { entryCount = 0 }: { entryCount?: number } = table.getStats()
  return entryCount
}

/** Up to STEP_ENTRIES entries from `start` on; `next` is the start of the following step, undefined at the end. */
function readStep(environment: Environment, table: Bytes, start: Buffer | undefined): { entries: Entry[]; next: Buffer | undefined } {
  const entries = environment.read(() => [...table.getRange({ ...(start === undefined ? {} : { start }), limit: STEP_ENTRIES })])
  const last = entries.at(-1)
  return { entries, next: last === undefined || entries.length < STEP_ENTRIES ? undefined : Buffer.concat([last.key, AFTER]) }
}

/** Calls `visit` with every entry. */
export async function visitAll(environment: Environment, table: Bytes, visit: (entry: Entry) => void): Promise<void> {
  let start: Buffer | undefined
  do {
    const step = readStep(environment, table, start)
    step.entries.forEach(visit)
    start = step.next
    await setImmediate()
  } while (start !== undefined)
}

/**
 * Finds entries in rounds, a bounded number per call. A call continues after the last one of the same round, and finds nothing at the end.
 * A different `round` begins another round.
 */
export function makeFinder(environment: Environment, table: Bytes, matches: (entry: Entry, round: number) => boolean) {
  let current: { round: number; start: Buffer | undefined; atEnd: boolean } | undefined

  return async (round: number, limit: number): Promise<Buffer[]> => {
    if (current?.round !== round) current = { round, start: undefined, atEnd: false }
    const found: Buffer[] = []
    while (!current.atEnd && found.length < limit) {
      const step = readStep(environment, table, current.start)
      current.start = step.next
      current.atEnd = step.next === undefined
      for (const entry of step.entries) {
        if (!matches(entry, round)) continue
        if (found.length === limit) {
          current.start = entry.key
          current.atEnd = false
          break
        }
        found.push(entry.key)
      }
      await setImmediate()
    }
    if (found.length === 0) current = undefined
    return found
  }
}
