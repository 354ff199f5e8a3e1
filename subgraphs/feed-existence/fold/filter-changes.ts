/**
 * Adds to many filters, each under its version: read the filters, add, and write each changed filter if its version is unchanged. Refused
 * writes are repeated from the read. Two workers that add to the same filter therefore lose nothing.
 *
 * A problem with one filter is reported with its key and does not affect the others. That includes a filter that would be too large for the
 * record store. A damaged filter is rebuilt first.
 */
import { FILTER_BYTES_MAX, type FilterKey, type FilterWrite, type SeenRecords } from '../stores/record-store.ts'
import type { Month } from '../../../core/domain.ts'
import { saysDown, saysFull } from '../../../core/outage/degraded.ts'
import { TidemarkError, saysDamaged } from '../../../core/errors.ts'

export type FilterChanges<K extends FilterKey> = {
  /** The filter with the addition; the same bytes if nothing changes. */
  add(before: Buffer | undefined, key: K): Buffer | Promise<Buffer>
  /** Rebuilds a damaged filter. False if another filter is stored by now. */
  renew(key: K, version: number, damage: Error): Promise<boolean>
  /** The error for a filter that would be too large. */
  tooLarge(key: K, bytes: number): TidemarkError
  expiryOf(month: Month): number
}

export type ChangeReport<K extends FilterKey> = {
  /** Keys whose filters have the additions now. */
  done: K[]
  /** The keys among these that had no filter before. */
  begun: K[]
  failed: { key: K; error: unknown }[]
  writes: number
  /** Writes refused because of a concurrent one, and repeated. */
  refused: number
  renewed: number
}

/** Attempts per write. A write is refused only if a concurrent one was applied, so some writer always makes progress. */
export const ATTEMPTS_MAX = 20

/** Rejects only if a store is down or full: other filters would fail too. */
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

  /** Returns the keys to try again. */
  async function changeOnce(tried: readonly K[]): Promise<K[]> {
    const stored = await records.getFilters(tried)
    const again: K[] = []
    const writes: { key: K; write: FilterWrite }[] = []
    for (const [place, key] of tried.entries()) {
      const { viewer, month } = key
      const { filter: before, version } = stored[place] ?? { filter: undefined, version: 0 }
      try {
        const added = add(before, key)
        // Most results are available at once: only a long step yields to the event loop.
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

/** True if a store is down or full, so that other keys would fail too. */
export function endsRound(error: unknown): boolean {
  return saysDown(error, 'hotStore') || saysDown(error, 'recordStore') || saysFull(error)
}

/** `what` was changed by others at every attempt. */
export function outrun(what: string): TidemarkError {
  return new TidemarkError(
    'INTERNAL',
    `${what} changed ${ATTEMPTS_MAX} times during the write: nothing is lost, the next attempt repeats the addition`,
  )
}
