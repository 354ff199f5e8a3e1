/**
 * A bounded queue with lanes that take turns. A full lane delays its own items; each other lane waits for at most one item of it. When the
 * queue is full, the longest lane drops its oldest item.
 */
export type FairQueue<T> = {
  /** Returns the dropped item, if the queue was full. */
  push(lane: string, item: T): T | undefined
  /** Takes the oldest item of the next lane. */
  shift(): T | undefined
  remove(lane: string, item: T): void
  lengthOf(lane: string): number
  size(): number
}

/** `itemsMax`: minimum 1. */
export function makeFairQueue<T>(itemsMax: number): FairQueue<T> {
  /** In the order of their turns. Empty lanes are removed. */
  const lanes = new Map<string, Set<T>>()
  let size = 0

  function takeFrom(lane: string, items: Set<T>): T {
    const [item] = items as Set<T> & Iterable<T, void>
    remove(lane, item as T)
    return item as T
  }

  function remove(lane: string, item: T): void {
    const items = lanes.get(lane)
    if (items?.delete(item) !== true) return
    size--
    if (items.size === 0) lanes.delete(lane)
  }

  function longest(): [string, Set<T>] {
    return [...lanes].reduce((most, each) => (each[1].size > most[1].size ? each : most))
  }

  return {
    push(lane, item) {
      const items = lanes.get(lane)
      if (items === undefined) lanes.set(lane, new Set([item]))
      else items.add(item)
      size++
      return size > itemsMax ? takeFrom(...longest()) : undefined
    },
    shift() {
      const [next] = lanes
      if (next === undefined) return undefined
      const [lane, items] = next
      const item = takeFrom(lane, items)
      // The other lanes are next.
      if (items.size > 0) {
        lanes.delete(lane)
        lanes.set(lane, items)
      }
      return item
    },
    remove,
    lengthOf: (lane) => lanes.get(lane)?.size ?? 0,
    size: () => size,
  }
}
