/**
 * Adds to many filters, each under its version: read them, add, write those that changed if their version is still the one that
 * was read; those refused, again from there. So whoever adds to the same filter at the same time, both are in it.
 *
 * What is wrong with one filter, or with what is added to it, is told with its key, and holds up no other: a filter that would
 * take more than the record store does, too. One that is damaged is made anew, and then added to.
 */
import { FILTER_BYTES_MAX, type FilterKey, type FilterWrite, type SeenRecords } from '../stores/record-store.ts'
import type { Month } from '../../../core/domain.ts'
import { saysDown, saysFull } from '../../../core/outage/degraded.ts'
import { TidemarkError, saysDamaged } from '../../../core/errors.ts'

export type FilterChanges<K extends FilterKey> = {
  /** The filter with what comes to it; the same bytes if it has that already. */
  add(before: Buffer | undefined, key: K): Buffer | Promise<Buffer>
  /** Makes one anew that is damaged. False if another one stands there by now. */
  renew(key: K, version: number, damage: Error): Promise<boolean>
  /** What to say of one that would be too large. */
  tooLarge(key: K, bytes: number): TidemarkError
  expiryOf(month: Month): number
}

export type ChangeReport<K extends FilterKey> = {
  /** Those that hold now what was to be added. */
  done: K[]
  /** Of these, those that had no filter before. */
  begun: K[]
  failed: { key: K; error: unknown }[]
  writes: number
  /** Writes that another one came before; they were done again. */
  refused: number
  renewed: number
}

/** A write is tried as often as that, since others may come before it. They add too, so that something goes on each time. */
export const ATTEMPTS_MAX = 20

/** Rejects only if a store does not answer, or is full: it is of no use to try others then. */
export async function changeFilters<K extends FilterKey>(
  records: Pick<SeenRecords, 'getFilters' | 'putFilters'>,
  keys: readonly K[],
  { add, renew, tooLarge, expiryOf }: FilterChanges<K>,
): Promise<ChangeReport<K>> {
  const report: ChangeReport<K> = { done: [], begun: [], failed: [], writes: 0, refused: 0, renewed: 0 }
  let open = keys
  for (let attempt = 0; open.length > 0; attempt++) {
    if (attempt >= ATTEMPTS_MAX) {
      for (const key of open) report.failed.push({ key, error: outrun(`the filter of viewer "${key.viewer}" and month ${key.month}`) })
      break
    }
    open = await changeOnce(open)
  }
  return report

  /** Those that must be tried again. */
  async function changeOnce(tried: readonly K[]): Promise<K[]> {
    const stored = await records.getFilters(tried)
    const again: K[] = []
    const writes: { key: K; write: FilterWrite }[] = []
    for (const [place, key] of tried.entries()) {
      const { viewer, month } = key
      const { filter: before, version } = stored[place] ?? { filter: undefined, version: 0 }
      try {
        const added = add(before, key)
        // Most are there at once: only who takes long lets others have their turn.
        const filter = added instanceof Promise ? await added : added
        if (filter.length > FILTER_BYTES_MAX) throw tooLarge(key, filter.length)
        if (before?.equals(filter)) report.done.push(key)
        else writes.push({ key, write: { viewer, month, filter, expected: version, expiresAt: expiryOf(month) } })
      } catch (error) {
        try {
          if (!saysDamaged(error)) throw error
          if (await renew(key, version, error)) report.renewed++
          again.push(key)
        } catch (failure) {
          if (endsRound(failure)) throw failure
          report.failed.push({ key, error: failure })
        }
      }
    }
    const written = writes.length === 0 ? [] : await records.putFilters(writes.map(({ write }) => write))
    writes.forEach(({ key, write }, place) => {
      if (written[place] === true) {
        report.writes++
        report.done.push(key)
        if (write.expected === 0) report.begun.push(key)
        return
      }
      report.refused++
      again.push(key)
    })
    return again
  }
}

/** Is it of no use to try others, because a store is down? */
export function endsRound(error: unknown): boolean {
  return saysDown(error, 'hotStore') || saysDown(error, 'recordStore') || saysFull(error)
}

/** `what` was written by others each time. */
export function outrun(what: string): TidemarkError {
  return new TidemarkError(
    'INTERNAL',
    `${what} changed ${ATTEMPTS_MAX} times while it was to be written: nothing is lost, what is to come to it waits for the next try`,
  )
}
