/** Reads totals from the hot store, and those that it does not have from the record store. Fills the unknown ones in the background. */
import type { Subject } from '../../../core/domain.ts'
import { noteOrThrow, saysDown, saysFull, type Degraded } from '../../../core/outage/degraded.ts'
import { apartIfPartIsOut, concernsSomeOnly } from '../../../core/outage/part-outage.ts'
import type { CountRow, Counts } from '../model/counts.ts'
import type { CounterStore } from '../stores/counter-store.ts'
import type { Bases } from './bases.ts'

/** Subjects that were read: whether the hot store had their totals. */
export type CounterReadFigures = { hits: number; misses: number }

export function makeCounterReads(hot: CounterStore, bases: Bases, fillsReads: boolean, onError: (error: unknown) => void) {
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
      const held = await getHot(subjects, degraded)
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
      if (fillsReads && unknown.length > 0) fillLater(unknown)
      return counts
    },

    figures: (): CounterReadFigures => ({ ...figures }),

    async settled(): Promise<void> {
      while (fills.size > 0) await Promise.all(fills)
    },
  }
}
