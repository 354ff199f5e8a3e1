/**
 * The k-way merge: the ids of many sections, newest first, each once. It reads their bytes in place (`section.ts`), so a page of 20 of 2,000 authors
 * looks at 2,000 ids, and then at one more per step. Of a source that has no section yet, it knows the newest id, and asks for the section
 * when that id may be the next.
 *
 * A heap (`source-heap.ts`) holds one entry per source. Building it takes time in proportion to the sources, and a step takes time in
 * proportion to their logarithm.
 *
 *   1. The entry of a source is its newest id that was not returned yet.
 *   2. A source that has no such id, and whose list goes on, has a bound instead: its floor. All its further ids are below it. The bound of a
 *      source without a section is the number after its newest id. An id comes before an equal bound.
 *   3. If the top is an id, it is the newest of all. The merge returns it, unless it equals the last one, and takes the next of its source.
 *   4. If the top is a bound, a source may have a newer id than all that are known. The merge asks for the continuation of all sources
 *      whose bounds are above all known ids. The caller gives them with `replace` and calls `next` again.
 */
import { unpackId } from '../../../core/keys.ts'
import type { PostId } from './post-id.ts'
import { buildSourceHeap } from './source-heap.ts'
import type { SourceHeap } from './source-heap.ts'
import { FLOOR_AT, goesOn, idsFrom } from './section.ts'
import { ID_BYTES, packOne, placeOf } from './vector.ts'

/** The two halves of an id per source, for example of its newest one. Both are 0 if there is none. */
export type IdColumns = { highs: Uint32Array; lows: Uint32Array }

export type Continuation = { source: number; below: PostId }

export type MergeStep =
  | { kind: 'id'; id: PostId; source: number }
  /** Replace each of these sources by its part below this id. A source that is not replaced has ended. */
  | { kind: 'needs'; sources: Continuation[] }
  | { kind: 'end' }

export type Merge = {
  next(): MergeStep
  /** Gives the continuation of a source that `next` asked for. If it has no id and no floor below the asked one, `next` asks again. */
  replace(source: number, part: Buffer): void
}

/** Above every post id. */
export const BOUND_OF_ALL = packOne('9223372036854775807')
/** The first sections that are asked for. More than the authors of most pages. */
const SECTIONS_MIN = 40
const LARGEST_HALF = 0xffff_ffff
const NONE: IdColumns = { highs: new Uint32Array(0), lows: new Uint32Array(0) }

type Entries = Pick<SourceHeap, 'highs' | 'lows' | 'ends'>
const END: MergeStep = { kind: 'end' }

/**
 * `sections`: their bytes, which must not change meanwhile. `newest`: the halves of the newest id of each source without a section, 0 if it has
 * no id at all. `before`: only ids below this one.
 */
export function makeMerge(sections: readonly (Buffer | undefined)[], newest: IdColumns = NONE, before?: PostId): Merge {
  const parts = [...sections]
  const firstBound = before === undefined ? BOUND_OF_ALL : packOne(before)
  const heap = buildSourceHeap(parts.length, (source, entries) => {
    entries.highs[source] = firstBound.readUInt32BE(0)
    entries.lows[source] = firstBound.readUInt32BE(4)
    return parts[source] === undefined ? enterByNewest(source, entries) : enter(source, entries)
  })
  let sectionsMax = SECTIONS_MIN
  let lastHigh = -1
  let lastLow = -1

  /** Positions a source without a section at its bound. False: it has no ids. */
  function enterByNewest(source: number, entries: Entries): boolean {
    const high = newest.highs[source] as number
    const low = newest.lows[source] as number
    if (high === 0 && low === 0) return false
    lower(source, low === LARGEST_HALF ? high + 1 : high, (low + 1) >>> 0, entries)
    return true
  }

  /** Positions the source below its present entry, for the first time or after `replace`. False: it has ended. */
  function enter(source: number, entries: Entries): boolean {
    const part = parts[source] as Buffer
    const from = idsFrom(part)
    if (part.length === from) return advance(source, from, entries)
    const high = entries.highs[source] as number
    const low = entries.lows[source] as number
    const newest = part.length - ID_BYTES
    const newestHigh = part.readUInt32BE(newest)
    const isBelow = newestHigh < high || (newestHigh === high && part.readUInt32BE(newest + 4) < low)
    return advance(source, isBelow ? part.length : from + placeOf(part.subarray(from), packHalves(high, low)), entries)
  }

  /** Moves the source to the id that ends at this offset of its section, or behind the last one to its bound. False: it has ended. */
  function advance(source: number, end: number, entries: Entries): boolean {
    const part = parts[source] as Buffer
    if (end === idsFrom(part)) {
      entries.ends[source] = 0
      if (!goesOn(part)) return false
      lower(source, part.readUInt32BE(FLOOR_AT), part.readUInt32BE(FLOOR_AT + 4), entries)
      return true
    }
    entries.ends[source] = end
    entries.highs[source] = part.readUInt32BE(end - ID_BYTES)
    entries.lows[source] = part.readUInt32BE(end - ID_BYTES + 4)
    return true
  }

  /** A bound never rises: a cursor or an earlier part may be below the floor. */
  function lower(source: number, high: number, low: number, { highs, lows }: Entries): void {
    if (high > (highs[source] as number) || (high === highs[source] && low > (lows[source] as number))) return
    highs[source] = high
    lows[source] = low
  }

  function idOf(source: number): PostId {
    return unpackId(packHalves(heap.highs[source] as number, heap.lows[source] as number), 0)
  }

  function next(): MergeStep {
    while (heap.size() > 0) {
      const source = heap.top()
      const { highs, lows, ends } = heap
      if (ends[source] === 0) return needs()
      const isRepeated = highs[source] === lastHigh && lows[source] === lastLow
      lastHigh = highs[source] as number
      lastLow = lows[source] as number
      const step: MergeStep | undefined = isRepeated ? undefined : { kind: 'id', id: idOf(source), source }
      if (advance(source, (ends[source] as number) - ID_BYTES, heap)) heap.settleTop()
      else heap.removeTop()
      if (step !== undefined) return step
    }
    return END
  }

  /**
   * Takes the bounds off the top: their sources come back with `replace`. Of sources without a section, it takes only as many as a page may
   * need, and twice as many each time.
   */
  function needs(): MergeStep {
    const found: Continuation[] = []
    while (heap.size() > 0 && heap.ends[heap.top()] === 0) {
      const below = idOf(heap.top())
      if (found.length >= sectionsMax && parts[heap.top()] === undefined && below !== found.at(-1)?.below) break
      found.push({ source: heap.top(), below })
      heap.removeTop()
    }
    sectionsMax *= 2
    return { kind: 'needs', sources: found }
  }

  return {
    next,
    replace(source, part) {
      parts[source] = part
      if (enter(source, heap)) heap.add(source)
    },
  }
}

function packHalves(high: number, low: number): Buffer {
  const packed = Buffer.allocUnsafe(ID_BYTES)
  packed.writeUInt32BE(high, 0)
  packed.writeUInt32BE(low, 4)
  return packed
}
