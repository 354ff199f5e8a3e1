/**
 * SIEVE (Zhang, Yang, Yue, Vigfusson, Rashmi: "SIEVE is Simpler than LRU", NSDI '24) with expiry and two bounds.
 *
 * Entries form a queue in order of arrival. A hit only sets the `visited` bit of the entry. To make room, a hand moves
 * from the oldest entry to the newest. It clears the bit of visited entries, which keep their place. It evicts the first
 * entry without the bit and stays there. An entry that was read once leaves soon, even during a scan. Popular entries
 * stay, at the price of one byte written per hit.
 *
 * The queue is linked through typed arrays, 33 bytes per cell, allocated once for `entriesMax` entries. The operating
 * system gives them memory only when they are written. Strings and values are in plain arrays, which grow with the
 * entries. A hit allocates nothing. The caller states the size of each value.
 */
import assert from 'node:assert/strict'
import type { Clock } from '../clock.ts'
import { makeExpiry } from './expiry.ts'
import type { Cacheable, LocalCache } from './local-cache.ts'
import { makeSieveQueue, NO_CELL } from './sieve-queue.ts'

export type SieveCacheOptions = {
  /** Maximum number of entries. Minimum 1. */
  entriesMax: number
  /** Maximum sum of the sizes. Minimum 1. */
  bytesMax: number
}

export function makeSieveCache<V extends Cacheable>(clock: Clock, { entriesMax, bytesMax }: SieveCacheOptions): LocalCache<V> {
  assert(Number.isInteger(entriesMax) && entriesMax >= 1 && bytesMax >= 1, 'entriesMax and bytesMax must be at least 1')
  const cells = new Map<string, number>()
  const keys: string[] = []
  const values: (V | undefined)[] = []
  const sizes = new Float64Array(entriesMax)
  const expiry = makeExpiry(clock, entriesMax)
  const queue = makeSieveQueue(entriesMax)
  const { visited } = queue
  let hits = 0
  let misses = 0
  let evictions = 0
  let bytes = 0

  function clear(): void {
    cells.clear()
    keys.length = 0
    values.length = 0
    queue.clear()
    bytes = 0
  }

  function get(key: string, now?: number): V | undefined {
    const cell = cells.get(key)
    if (cell !== undefined) {
      visited[cell] = 1
      if (expiry.isFresh(cell, now)) {
        hits++
        return values[cell]
      }
    }
    misses++
    return undefined
  }

  function set(key: string, value: V, size: number, ttlMs = Infinity): boolean {
    assert(Number.isSafeInteger(size) && size >= 0 && ttlMs >= 0, `a size of ${size} bytes with ${ttlMs} ms to live is not valid`)
    let cell = cells.get(key) ?? NO_CELL
    if (size > bytesMax) {
      if (cell !== NO_CELL) remove(cell)
      return false
    }
    if (cell !== NO_CELL) bytes -= sizes[cell] as number
    while (bytes + size > bytesMax || (cell === NO_CELL && queue.isFull())) evictOne(cell)
    if (cell === NO_CELL) cell = append(key)
    else visited[cell] = 1
    values[cell] = value
    sizes[cell] = size
    bytes += size
    expiry.start(cell, ttlMs)
    return true
  }

  function append(key: string): number {
    const cell = queue.append()
    keys[cell] = key
    cells.set(key, cell)
    return cell
  }

  /** Never the entry `kept`, which is being written. */
  function evictOne(kept: number): void {
    remove(queue.findVictim(kept))
    evictions++
  }

  function remove(cell: number): void {
    queue.remove(cell)
    cells.delete(keys[cell] as string)
    bytes -= sizes[cell] as number
    keys[cell] = ''
    values[cell] = undefined
  }

  return {
    get: (key) => get(key),
    getMany(keys) {
      const now = clock.now()
      return keys.map((key) => get(key, now))
    },
    set,
    clear,
    getStale(key) {
      const cell = cells.get(key)
      return cell === undefined ? undefined : values[cell]
    },
    visit(key) {
      const cell = cells.get(key)
      if (cell === undefined) return undefined
      visited[cell] = 1
      return values[cell]
    },
    delete(key) {
      const cell = cells.get(key)
      if (cell !== undefined) remove(cell)
      return cell !== undefined
    },
    figures: () => ({ hits, misses, evictions, entries: cells.size, bytes }),
  }
}
