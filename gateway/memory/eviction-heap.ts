/**
 * A binary heap with the lowest priority at the top. Between equal priorities the older entry comes first. Each entry keeps its index, so
 * that any entry can be removed without a search.
 */
export type HeapEntry = {
  /** The index in the heap, or NOT_IN_HEAP. Only the heap writes it. */
  place: number
  /** If it rises, call `sink`. */
  priority: number
  readonly order: number
}

export const NOT_IN_HEAP = -1

export type EvictionHeap<Entry extends HeapEntry> = {
  /** The entry with the lowest priority. Undefined if the heap is empty. */
  top(): Entry | undefined
  add(entry: Entry): void
  /** Returns false if the entry is not in the heap. */
  remove(entry: Entry): boolean
  /** Restores the order of the heap after the priority of this entry has risen. */
  sink(entry: Entry): void
}

export function makeEvictionHeap<Entry extends HeapEntry>(): EvictionHeap<Entry> {
  const heap: Entry[] = []

  function put(entry: Entry, place: number): void {
    heap[place] = entry
    entry.place = place
  }

  function swap(a: Entry, b: Entry): void {
    const { place } = a
    put(a, b.place)
    put(b, place)
  }

  function rise(entry: Entry): void {
    while (entry.place > 0) {
      const parent = heap[(entry.place - 1) >> 1] as Entry
      if (!isBefore(entry, parent)) return
      swap(entry, parent)
    }
  }

  function sink(entry: Entry): void {
    for (;;) {
      const left = heap[entry.place * 2 + 1]
      const right = heap[entry.place * 2 + 2]
      const lower = right !== undefined && left !== undefined && isBefore(right, left) ? right : left
      if (lower === undefined || !isBefore(lower, entry)) return
      swap(entry, lower)
    }
  }

  return {
    top: () => heap[0],
    add(entry) {
      put(entry, heap.length)
      rise(entry)
    },
    remove(entry) {
      if (entry.place === NOT_IN_HEAP) return false
      const last = heap.pop() as Entry
      if (last !== entry) {
        put(last, entry.place)
        rise(last)
        sink(last)
      }
      entry.place = NOT_IN_HEAP
      return true
    },
    sink,
  }
}

function isBefore(a: HeapEntry, b: HeapEntry): boolean {
  return a.priority < b.priority || (a.priority === b.priority && a.order < b.order)
}
