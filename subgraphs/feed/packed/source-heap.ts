/**
 * The heap of a merge: sources, ordered by the 64-bit entry of each, highest first. A binary heap (J. W. J. Williams, "Algorithm 232:
 * Heapsort", CACM 7/6, 1964), built in linear time (R. W. Floyd, "Algorithm 245: Treesort 3", CACM 7/12, 1964). All entries are in typed
 * arrays, indexed by source, so a source costs no object.
 */

export type SourceHeap = {
  /** The two halves of each source's entry. The owner may change those of the top, or of a source outside the heap. */
  readonly highs: Uint32Array
  readonly lows: Uint32Array
  /** The offset after the entry's id in its section. 0: the entry is a bound, and comes after an equal id. */
  readonly ends: Uint32Array
  size(): number
  /** The source with the highest entry. The heap must not be empty. */
  top(): number
  /** Restores the order after a change of the top's entry. */
  settleTop(): void
  removeTop(): void
  add(source: number): void
}

/** A heap of the sources from 0 on for which `enter` returns true. It writes the entry of its source first. */
export function buildSourceHeap(sources: number, enter: (source: number, heap: SourceHeap) => boolean): SourceHeap {
  const highs = new Uint32Array(sources)
  const lows = new Uint32Array(sources)
  const ends = new Uint32Array(sources)
  const order = new Uint32Array(sources)
  let size = 0

  function isAbove(one: number, other: number): boolean {
    const difference =
      (highs[one] as number) - (highs[other] as number) ||
      (lows[one] as number) - (lows[other] as number) ||
      Number(ends[one] !== 0) - Number(ends[other] !== 0)
    return difference > 0
  }

  function siftDown(from: number): void {
    const moved = order[from] as number
    let at = from
    for (let child = 2 * at + 1; child < size; child = 2 * at + 1) {
      if (child + 1 < size && isAbove(order[child + 1] as number, order[child] as number)) child++
      if (!isAbove(order[child] as number, moved)) break
      order[at] = order[child] as number
      at = child
    }
    order[at] = moved
  }

  const heap: SourceHeap = {
    highs,
    lows,
    ends,
    size: () => size,
    top: () => order[0] as number,
    settleTop: () => siftDown(0),
    removeTop() {
      order[0] = order[--size] as number
      if (size > 0) siftDown(0)
    },
    add(source) {
      let at = size++
      for (let parent = (at - 1) >>> 1; at > 0 && isAbove(source, order[parent] as number); parent = (at - 1) >>> 1) {
        order[at] = order[parent] as number
        at = parent
      }
      order[at] = source
    },
  }

  for (let source = 0; source < sources; source++) if (enter(source, heap)) order[size++] = source
  for (let at = (size >>> 1) - 1; at >= 0; at--) siftDown(at)
  return heap
}
