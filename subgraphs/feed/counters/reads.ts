/**
 * Reads totals from the hot store, and those that it does not have from the record store. The hot store is then filled in the background.
 *
 * Any client can ask for ids without counts, and a filled subject never leaves the hot store. Zeros are therefore not filled. They stay in
 * the memory of this process for a minute, within a bound. The hot store is asked first, so it decides once the subject is counted. If it
 * loses the totals after that, the zeros are shown until they expire.
 */
import type { Clock } from '../../../core/clock.ts'
import type { Subject } from '../../../core/domain.ts'
import { noteOrThrow, saysDown, saysFull, type Degraded } from '../../../core/outage/degraded.ts'
import { apartIfPartIsOut, concernsSomeOnly } from '../../../core/outage/part-outage.ts'
import { makeSieveCache } from '../../../core/sieve/sieve.ts'
import type { CountRow, Counts } from '../model/counts.ts'
import type { CounterStore } from '../stores/counter-store.ts'
import type { Bases } from './bases.ts'

/** Subjects that were read: whether the hot store, or the memory of zeros, had their totals. */
export type CounterReadFigures = { hits: number; misses: number }

/** The bound of entries is enough, because ids have at most 64 bytes. */
const ZEROS = { entriesMax: 50_000, bytesMax: Number.MAX_SAFE_INTEGER }
const ZEROS_TTL_MS = 60_000

export function makeCounterReads(clock: Clock, hot: CounterStore, bases: Bases, fillsReads: boolean, onError: (error: unknown) => void) {
  const zeros = makeSieveCache<Counts>(clock, ZEROS)
  const fills = new Set<Promise<void>>()
  const figures: CounterReadFigures = { hits: 0, misses: 0 }

  /** Null for totals that could not be read. */
  async function readBases(subjects: readonly Subject[], degraded: Degraded): Promise<(CountRow | null)[]> {
    try {
      return await bases.of(subjects)
    } catch (error) {
      noteOrThrow(error, 'recordStore', degraded)
      return subjects.map(() => null)
    }
  }

  function keep(rows: readonly CountRow[]): void {
    const counted: CountRow[] = []
    for (const row of rows) {
      if (Object.values(row.counts).some((count) => count > 0)) counted.push(row)
      else zeros.set(nameOf(row.subject), row.counts, 1, ZEROS_TTL_MS)
    }
    if (counted.length > 0) fillLater(counted)
  }

  function fillLater(rows: readonly CountRow[]): void {
    const fill: Promise<void> = hot
      .fillTotals(rows)
      .catch((error: unknown) => {
        if (!saysDown(error, 'hotStore') && !saysFull(error)) onError(error)
      })
      .finally(() => fills.delete(fill))
    fills.add(fill)
  }

  async function getHot(subjects: readonly Subject[], degraded: Degraded): Promise<(Counts | undefined | 'down')[]> {
    return apartIfPartIsOut(
      subjects.map((item) => ({ viewer: item.oid, item })),
      async (some): Promise<(Counts | undefined | 'down')[]> => {
        try {
          return await hot.getMany(some.map(({ item }) => item))
        } catch (error) {
          if (concernsSomeOnly(error, some)) throw error
          noteOrThrow(error, 'hotStore', degraded)
          return some.map(() => 'down' as const)
        }
      },
    )
  }

  return {
    async getMany(subjects: readonly Subject[], degraded: Degraded): Promise<(Counts | null)[]> {
      const found = await getHot(subjects, degraded)
      const held = found.map((each, at) => each ?? zeros.get(nameOf(subjects[at] as Subject)))
      const places = held.flatMap((each, at) => (each === undefined || each === 'down' ? [at] : []))
      const counts = held.map((each) => (each === undefined || each === 'down' ? null : each))
      figures.hits += held.length - places.length
      figures.misses += places.length
      if (places.length === 0) return counts
      const rows = await readBases(
        places.map((at) => subjects[at] as Subject),
        degraded,
      )
      places.forEach((at, index) => (counts[at] = rows[index]?.counts ?? null))
      const unknown = rows.filter((row, index): row is CountRow => row !== null && held[places[index] as number] === undefined)
      if (fillsReads) keep(unknown)
      return counts
    },

    figures: (): CounterReadFigures => ({ ...figures }),

    async settled(): Promise<void> {
      while (fills.size > 0) await Promise.all(fills)
    },
  }
}

function nameOf({ business, oid }: Subject): string {
  return `${business}:${oid}`
}
