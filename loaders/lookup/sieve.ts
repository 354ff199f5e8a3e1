/**
 * SIEVE (Zhang, Yang, Yue, Vigfusson, Rashmi: "SIEVE is Simpler than LRU", NSDI '24) with expiry and two bounds.
 *
 * Entries stand in a queue in order of arrival. A hit only sets the entry's `visited` bit. When room is needed a hand walks
 * from the oldest to the newest: it clears the bit of visited entries, which keep their place, and evicts the first that was
 * not visited since it last came by; then it stays there. So what is asked for once leaves soon, even if many such keys
 * come in a row (a scan), and what is popular is left in peace, at the price of one byte written a hit.
 *
 * The queue is linked through typed arrays, 33 bytes a cell, made once for `entriesMax` entries; strings and values are in
 * plain arrays. Nothing is allocated by a hit. The sizes of values are the caller's word: nobody measures them here.
 */
import assert from 'node:assert/strict'
import type { Clock } from '../../core/clock.ts'
import type { Cacheable, LocalCache } from './local-cache.ts'

export type SieveCacheOptions = {
  /** Entries it may hold. Minimum 1. */
  entriesMax: number
  /** The sum of the sizes that it may hold. Minimum 1. */
  bytesMax: number
}

const NONE = -1

export function makeSieveCache<V extends Cacheable>(clock: Clock, { entriesMax, bytesMax }: SieveCacheOptions): LocalCache<V> {
  assert(Number.isInteger(entriesMax) && entriesMax >= 1 && bytesMax >= 1, 'a cache has room for something')
  const cells = new Map<string, number>()
  const keys = Array.from({ length: entriesMax }, () => '')
  const values = Array.from<V | undefined>({ length: entriesMax })
  const sizes = new Float64Array(entriesMax)
  const storedAt = new Float64Array(entriesMax)
  const expiresAt = new Float64Array(entriesMax)
  const visited = new Uint8Array(entriesMax)
  const newer = new Int32Array(entriesMax)
  /** Of a free cell: the next free one. */
  const older = new Int32Array(entriesMax)
  let newest = NONE
  let oldest = NONE
  /** Where the last eviction ended; NONE: it begins at the oldest again. */
  let hand = NONE
  let free = NONE
  let hits = 0
  let misses = 0
  let evictions = 0
  let bytes = 0
  clear()

  function clear(): void {
    cells.clear()
    keys.fill('')
    values.fill(undefined)
    for (let cell = 0; cell < entriesMax; cell++) older[cell] = cell + 1 < entriesMax ? cell + 1 : NONE
    newest = oldest = hand = NONE
    free = bytes = 0
  }

  /** A clock that was set back would make entries live on: one from the future is not fresh either. */
  function isFresh(cell: number): boolean {
    const until = expiresAt[cell] as number
    if (until === Infinity) return true
    const now = clock.now()
    return now < until && now >= (storedAt[cell] as number)
  }

  function get(key: string): V | undefined {
    const cell = cells.get(key)
    if (cell !== undefined) {
      visited[cell] = 1
      if (isFresh(cell)) {
        hits++
        return values[cell]
      }
    }
    misses++
    return undefined
  }

  function set(key: string, value: V, size: number, ttlMs = Infinity): boolean {
    assert(Number.isSafeInteger(size) && size >= 0 && ttlMs >= 0, `a size of ${size} bytes or ${ttlMs} ms to live cannot be`)
    let cell = cells.get(key) ?? NONE
    if (size > bytesMax) {
      if (cell !== NONE) remove(cell)
      return false
    }
    if (cell !== NONE) bytes -= sizes[cell] as number
    while (bytes + size > bytesMax || (cell === NONE && free === NONE)) evictOne(cell)
    if (cell === NONE) cell = append(key)
    else visited[cell] = 1
    values[cell] = value
    sizes[cell] = size
    bytes += size
    const now = ttlMs === Infinity ? 0 : clock.now()
    storedAt[cell] = now
    expiresAt[cell] = now + ttlMs
    return true
  }

  function append(key: string): number {
    const cell = free
    free = older[cell] as number
    keys[cell] = key
    cells.set(key, cell)
    visited[cell] = 0
    older[cell] = newest
    newer[cell] = NONE
    if (newest === NONE) oldest = cell
    else newer[newest] = cell
    newest = cell
    return cell
  }

  /** Never the entry `kept`, which is being written. Ends within two rounds: the first clears every bit. */
  function evictOne(kept: number): void {
    let cell = hand === NONE ? oldest : hand
    while (visited[cell] === 1 || cell === kept) {
      visited[cell] = 0
      cell = newer[cell] === NONE ? oldest : (newer[cell] as number)
    }
    hand = cell
    remove(cell)
    evictions++
  }

  function remove(cell: number): void {
    const [before, after] = [older[cell] as number, newer[cell] as number]
    if (hand === cell) hand = after
    if (before === NONE) oldest = after
    else newer[before] = after
    if (after === NONE) newest = before
    else older[after] = before
    cells.delete(keys[cell] as string)
    bytes -= sizes[cell] as number
    keys[cell] = ''
    values[cell] = undefined
    older[cell] = free
    free = cell
  }

  return {
    get,
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
