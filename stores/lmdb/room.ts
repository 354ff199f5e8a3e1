/**
 * Limits the size of the file. LMDB's own map limit does not hold: this build grows the map by itself, until the disk is full and commits
 * fail. The pages in use are therefore counted, at most every `LOOK_EVERY_MS` because counting visits every table. Pages that deletions
 * freed inside the file count as room. The file may exceed its limit by the writes between two counts.
 *
 * The disk is checked too. If the disk refuses a commit, LMDB writes lines of its own to standard error, past any log. Nothing is committed
 * while the disk has less than `DISK_BYTES_MIN` left. After a commit that failed for lack of room (a quota, a limit of the process), the
 * next one is tried a second later.
 */
import { statfsSync } from 'node:fs'
import { TidemarkError } from '../../core/errors.ts'
import type { Database } from 'lmdb'

const LOOK_EVERY_MS = 50
/** About the bytes of one commit. */
const DISK_BYTES_MIN = 4 * 2 ** 20
const REFUSED_MS = 1_000

/** The fields of a table's `getStats`, which the library does not type. */
type PageCounts = { treeBranchPageCount?: number; treeLeafPageCount?: number; overflowPages?: number }
type TableStats = PageCounts & { pageSize?: number; root?: PageCounts; free?: PageCounts }

export type Room = {
  /** Throws STORE_FULL while the tables exceed the limit, or the disk has too little left. */
  assert(): void
  /** Throws STORE_FULL for a short time after a commit failed for lack of room. */
  assertTaken(): void
  /** Reports a commit that failed for lack of room. */
  refused(reason: string): void
  isFull(): boolean
}

export function makeRoom(folder: string, bytesMax: number, tables: () => Iterable<Database<Buffer, Buffer>>): Room {
  let lookedAt = Number.NEGATIVE_INFINITY
  let bytes = 0
  let diskBytes = Number.POSITIVE_INFINITY
  let refusal: { until: number; reason: string } | undefined

  function look(): void {
    const now = performance.now()
    if (now - lookedAt < LOOK_EVERY_MS) return
    lookedAt = now
    bytes = countBytes(tables())
    const { bavail, bsize } = statfsSync(folder)
    diskBytes = bavail * bsize
  }

  function assertTaken(): void {
    if (refusal === undefined) return
    if (performance.now() < refusal.until) throw diskFull(folder, refusal.reason)
    refusal = undefined
  }

  function assert(): void {
    assertTaken()
    look()
    if (diskBytes < DISK_BYTES_MIN) throw diskFull(folder, `${diskBytes} bytes left`)
    if (bytes <= bytesMax) return
    const [used, limit] = [bytes, bytesMax].map((count) => `${(count / 2 ** 30).toFixed(3)} GB`)
    throw new TidemarkError(
      'STORE_FULL',
      `the embedded stores in ${folder} take ${used}, more than stores.sizeMaxGb allows (${limit}): raise it and restart, or shorten the retention`,
    )
  }

  return {
    assert,
    assertTaken,
    refused(reason) {
      refusal = { until: performance.now() + REFUSED_MS, reason }
    },
    isFull() {
      try {
        assert()
        return false
      } catch {
        return true
      }
    },
  }
}

function diskFull(folder: string, reason: string): TidemarkError {
  return new TidemarkError('STORE_FULL', `the disk of ${folder} is full (${reason}): free some space and try again`)
}

function countBytes(tables: Iterable<Database<Buffer, Buffer>>): number {
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
