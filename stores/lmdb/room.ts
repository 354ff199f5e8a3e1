/**
 * The limit of the file. LMDB's own map limit does not hold: this build grows the map by itself, until the disk is full
 * and commits fail. So the pages in use are counted, at most every `LOOK_EVERY_MS` because counting visits every table;
 * pages that deletions freed inside the file count as room. A file may pass its limit by what is written between two looks.
 */
import { TidemarkError } from '../../core/errors.ts'
import type { Bytes } from './environment.ts'

const LOOK_EVERY_MS = 50

/** As `getStats` of a table has them; the library does not type them. */
type PageCounts = { treeBranchPageCount?: number; treeLeafPageCount?: number; overflowPages?: number }
type TableStats = PageCounts & { pageSize?: number; root?: PageCounts; free?: PageCounts }

/** Returns a check that throws STORE_FULL while the tables take more than `bytesMax`. */
export function makeRoomCheck(folder: string, bytesMax: number, tables: () => Iterable<Bytes>) {
  let lookedAt = Number.NEGATIVE_INFINITY
  let bytes = 0

  return (): void => {
    const now = performance.now()
    if (now - lookedAt >= LOOK_EVERY_MS) {
      lookedAt = now
      bytes = countBytes(tables())
    }
    if (bytes <= bytesMax) return
    const [used, limit] = [bytes, bytesMax].map((count) => `${(count / 2 ** 30).toFixed(3)} GB`)
    throw new TidemarkError(
      'STORE_FULL',
      `the embedded stores in ${folder} take ${used}, more than stores.sizeMaxGb allows (${limit}): raise it and restart, or shorten the retention`,
    )
  }
}

function countBytes(tables: Iterable<Bytes>): number {
  let pages = 0
  let shared: TableStats | undefined
  for (const table of tables) {
    shared = table.getStats()
    pages += pagesOf(shared)
  }
  return (pages + pagesOf(shared?.root) + pagesOf(shared?.free)) * (shared?.pageSize ?? 0)
}

function pagesOf(counts: PageCounts | undefined): number {
  return (counts?.treeBranchPageCount ?? 0) + (counts?.treeLeafPageCount ?? 0) + (counts?.overflowPages ?? 0)
}
