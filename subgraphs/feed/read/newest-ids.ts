/**
 * The newest post id of many authors, in the memory of this process. A home feed orders its authors by these ids, and reads only the heads
 * that can be on the page: 40 of 2,000 for most pages.
 *
 * An id is taken from a cached head, and has its version and its end. It is used like a value of a pool: not below the lowest acceptable
 * version (`freshness.ts`), and not after its end. While the hot store is down, versions of recent changes are not known, and a page reads
 * all heads.
 *
 * Ids are in two generations of columns, 24 bytes per author beside the key and its place in the map. When the newer one is full, it becomes
 * the older one, and the older one is forgotten.
 */
import type { Clock } from '../../../core/clock.ts'
import type { IdColumns } from '../packed/merge.ts'
import { FLOOR_AT, goesOn, idsFrom } from '../packed/section.ts'
import { ID_BYTES } from '../packed/vector.ts'
import type { VersionFloor } from './freshness.ts'

export type NewestIds = {
  /** Writes the ids of these keys of heads into `ids`. Returns the places of keys that are not known, or not well enough. */
  lookUp(keys: readonly string[], floorOf: VersionFloor, ids: IdColumns): number[]
  note(key: string, head: { value: Buffer; version: number; endsAt?: number | undefined }): void
  figures(): NewestFigures
}

/** `hits`: newest ids that were known. `misses`: heads that were read instead. */
export type NewestFigures = { hits: number; misses: number }

type Generation = IdColumns & { cells: Map<string, number>; versions: Float64Array; ends: Float64Array }

/** `authorsMax`: of a generation. */
export function makeNewestIds(clock: Clock, authorsMax = 100_000): NewestIds {
  let newer = makeGeneration(authorsMax)
  let older = makeGeneration(authorsMax)
  let hits = 0
  let misses = 0

  /** False if the generation does not know the key well enough. */
  function copy(
    { cells, versions, ends, highs, lows }: Generation,
    key: string,
    floor: number,
    now: number,
    ids: IdColumns,
    place: number,
  ) {
    const cell = cells.get(key)
    if (cell === undefined || (versions[cell] as number) < floor || (ends[cell] as number) <= now) return false
    ids.highs[place] = highs[cell] as number
    ids.lows[place] = lows[cell] as number
    return true
  }

  return {
    lookUp(keys, floorOf, ids) {
      const now = clock.now()
      const unknown: number[] = []
      for (let place = 0; place < keys.length; place++) {
        const key = keys[place] as string
        const floor = floorOf(key)
        if (!copy(newer, key, floor, now, ids, place) && !copy(older, key, floor, now, ids, place)) unknown.push(place)
      }
      misses += unknown.length
      hits += keys.length - unknown.length
      return unknown
    },
    note(key, { value, version, endsAt }) {
      if (endsAt === undefined) return
      let cell = newer.cells.get(key)
      if (cell === undefined) {
        if (newer.cells.size === authorsMax) {
          ;[newer, older] = [older, newer]
          newer.cells.clear()
        }
        cell = newer.cells.size
        newer.cells.set(key, cell)
      }
      const at = newestAt(value)
      newer.highs[cell] = at === undefined ? 0 : value.readUInt32BE(at)
      newer.lows[cell] = at === undefined ? 0 : value.readUInt32BE(at + 4)
      newer.versions[cell] = version
      newer.ends[cell] = endsAt
    },
    figures: () => ({ hits, misses }),
  }
}

export function makeIdColumns(length: number): IdColumns {
  return { highs: new Uint32Array(length), lows: new Uint32Array(length) }
}

/** The offset of the newest id. A head without ids may go on, because its posts were deleted: then that of its floor, which is above the rest. */
function newestAt(head: Buffer): number | undefined {
  if (head.length > idsFrom(head)) return head.length - ID_BYTES
  return goesOn(head) ? FLOOR_AT : undefined
}

function makeGeneration(length: number): Generation {
  return { ...makeIdColumns(length), cells: new Map(), versions: new Float64Array(length), ends: new Float64Array(length) }
}
