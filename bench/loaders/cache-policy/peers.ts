/** The peers of SIEVE: LRU, and the optimum with knowledge of the future. */

/** LRU, linked through typed arrays like SIEVE. A Map alone keeps the order of insertion, but finds its oldest key slowly. */
export function makeLru<V>(entriesMax: number) {
  const cells = new Map<string, number>()
  const keys = Array.from({ length: entriesMax + 1 }, () => '')
  const values = Array.from<V | undefined>({ length: entriesMax + 1 })
  /** A ring through the empty cell 0: the newest entry follows it, the oldest precedes it. */
  const newer = new Uint32Array(entriesMax + 1)
  const older = new Uint32Array(entriesMax + 1)

  function cut(cell: number): void {
    newer[older[cell] as number] = newer[cell] as number
    older[newer[cell] as number] = older[cell] as number
  }

  function putFirst(cell: number): void {
    const second = older[0] as number
    older[cell] = second
    newer[cell] = 0
    newer[second] = cell
    older[0] = cell
  }

  return {
    get(key: string): V | undefined {
      const cell = cells.get(key)
      if (cell === undefined) return undefined
      cut(cell)
      putFirst(cell)
      return values[cell]
    },
    /** Call it only for missing keys. */
    set(key: string, value: V): void {
      const isFull = cells.size === entriesMax
      const cell = isFull ? (newer[0] as number) : cells.size + 1
      if (isFull) {
        cut(cell)
        cells.delete(keys[cell] as string)
      }
      keys[cell] = key
      values[cell] = value
      cells.set(key, cell)
      putFirst(cell)
    },
  }
}

/**
 * Hits of Belady's optimum ("A study of replacement algorithms for a virtual-storage computer", 1966): it evicts the key with the furthest
 * next use. Like the caches here, it must store every key that it reads.
 */
export function optimalHits(stream: Uint32Array, entriesMax: number): number {
  const nextUse = nextUses(stream)
  const until = new Map<number, number>()
  const heap = makeHeap(stream)
  let hits = 0
  stream.forEach((key, at) => {
    if (until.has(key)) hits++
    else if (until.size === entriesMax) {
      // The heap keeps outdated entries of keys that were read again. The valid entry has the key's present next use.
      let furthest = heap.take()
      while (until.get(stream[furthest.at] as number) !== furthest.use) furthest = heap.take()
      until.delete(stream[furthest.at] as number)
    }
    until.set(key, nextUse[at] as number)
    heap.put(at, nextUse[at] as number)
  })
  return hits
}

/** For each read, the place of the next read of its key. Last reads get a unique number after the end. */
function nextUses(stream: Uint32Array): Float64Array {
  const uses = new Float64Array(stream.length)
  const seen = new Map<number, number>()
  for (let at = stream.length - 1; at >= 0; at--) {
    const key = stream[at] as number
    uses[at] = seen.get(key) ?? stream.length + at
    seen.set(key, at)
  }
  return uses
}

/** A binary heap of places in the stream, the furthest next use first. */
function makeHeap(stream: Uint32Array) {
  const places = new Uint32Array(stream.length + 1)
  const uses = new Float64Array(stream.length + 1)
  let size = 0
  const swap = (a: number, b: number) => {
    const [place, use] = [places[a] as number, uses[a] as number]
    places[a] = places[b] as number
    uses[a] = uses[b] as number
    places[b] = place
    uses[b] = use
  }
  return {
    put(at: number, use: number): void {
      let node = ++size
      places[node] = at
      uses[node] = use
      for (; node > 1 && (uses[node >> 1] as number) < (uses[node] as number); node >>= 1) swap(node, node >> 1)
    },
    take(): { at: number; use: number } {
      const first = { at: places[1] as number, use: uses[1] as number }
      swap(1, size--)
      for (let node = 1; node * 2 <= size;) {
        const child = node * 2 + (node * 2 < size && (uses[node * 2 + 1] as number) > (uses[node * 2] as number) ? 1 : 0)
        if ((uses[child] as number) <= (uses[node] as number)) break
        swap(node, child)
        node = child
      }
      return first
    },
  }
}
