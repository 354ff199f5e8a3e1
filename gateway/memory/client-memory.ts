/**
 * One budget of bytes for everything that clients can make the gateway keep: prepared operations, their variants and forms, compiled
 * fetches, answers to introspection, registered and recorded texts. The owners keep their maps. Each value has a holding here, with its estimated
 * size (estimates.ts) and the milliseconds to make it again.
 *
 * Eviction is GreedyDual-Size-Frequency (Cherkasova: "Improving WWW Proxies Performance with Greedy-Dual-Size-Frequency Caching Policy",
 * HPL-98-69, 1998). The priority of a value is
 *
 *     age + uses * cost / bytes
 *
 * where `age` is the priority of the last evicted value, read at the value's last use. The lowest priority goes first, and that may be the
 * newest value: a large text that is sent once does not displace a text in use. Uses count up to USES_MAX, so that values which were
 * popular once grow old as well.
 *
 * A use writes two numbers. Evictions restore the order of the heap: priorities only rise, so an outdated value sinks when it comes to the
 * top.
 *
 * Values of the operator's manifests count as `pinned`. They are never evicted and take nothing from the budget.
 */
import { makeEvictionHeap, NOT_IN_HEAP, type HeapEntry } from './eviction-heap.ts'

export const KINDS = ['operation', 'form', 'variant', 'fetch', 'answer', 'registered', 'recorded'] as const
export type Kind = (typeof KINDS)[number]

export type Holding = {
  /** The value was used. */
  touch(): void
  /** The owner dropped the value. `evicted` is not called. */
  release(): void
}

export type KindFigures = { readonly bytes: number; readonly count: number; readonly evictions: number }

export type ClientMemory = {
  /**
   * `costMs`: the time to make the value again. `evicted` is called once, when the value must go; that may be before this returns. It must
   * not throw.
   */
  hold(kind: Kind, bytes: number, costMs: number, evicted: () => void): Holding
  /** Counts pinned bytes as long as `owner` is in use. */
  pin(owner: object, bytes: number): void
  figures(): {
    readonly bytesMax: number
    readonly bytes: number
    readonly pinned: number
    readonly kinds: Readonly<Record<Kind, KindFigures>>
  }
}

export const CLIENT_MEMORY_DEFAULT = 67_108_864
/** The size of the holding itself, with its places in the heap and in its owner's map. */
const HOLDING_BYTES = 300
/** A larger value is not kept: a few of them would fill the memory. */
const VALUE_PART_MAX = 1 / 8
const USES_MAX = 1_000
const COST_MIN_MS = 0.01

/** `priority` is the priority at its last place in the heap: a use raises the true priority without moving the cell. */
type Cell = HeapEntry & {
  ageAtUse: number
  uses: number
  readonly rate: number
  readonly bytes: number
  readonly kind: Kind
  readonly evicted: () => void
}

export function makeClientMemory(bytesMax: number = CLIENT_MEMORY_DEFAULT): ClientMemory {
  const heap = makeEvictionHeap<Cell>()
  const kinds = Object.fromEntries(KINDS.map((kind) => [kind, { bytes: 0, count: 0, evictions: 0 }])) as Record<
    Kind,
    { bytes: number; count: number; evictions: number }
  >
  let age = 0
  let order = 0
  let held = 0
  let pinned = 0
  const unpinned = new FinalizationRegistry<number>((bytes) => void (pinned -= bytes))

  function hold(kind: Kind, valueBytes: number, costMs: number, evicted: () => void): Holding {
    const bytes = valueBytes + HOLDING_BYTES
    if (bytes > bytesMax * VALUE_PART_MAX) {
      kinds[kind].evictions += 1
      evicted()
      return GONE
    }
    const rate = Math.max(costMs, COST_MIN_MS) / bytes
    order += 1
    const cell: Cell = { place: NOT_IN_HEAP, priority: age + rate, order, ageAtUse: age, uses: 1, rate, bytes, kind, evicted }
    heap.add(cell)
    count(cell, 1)
    while (held > bytesMax) evictOne()
    return {
      touch() {
        if (cell.uses < USES_MAX) cell.uses += 1
        cell.ageAtUse = age
      },
      release: () => remove(cell),
    }
  }

  function evictOne(): void {
    const cell = lowest()
    age = cell.priority
    remove(cell)
    kinds[cell.kind].evictions += 1
    cell.evicted()
  }

  function lowest(): Cell {
    for (;;) {
      const cell = heap.top() as Cell
      const priority = cell.ageAtUse + cell.uses * cell.rate
      if (priority === cell.priority) return cell
      cell.priority = priority
      heap.sink(cell)
    }
  }

  function remove(cell: Cell): void {
    if (heap.remove(cell)) count(cell, -1)
  }

  function count({ kind, bytes }: Cell, sign: 1 | -1): void {
    held += sign * bytes
    kinds[kind].bytes += sign * bytes
    kinds[kind].count += sign
  }

  return {
    hold,
    pin(owner, bytes) {
      pinned += bytes
      unpinned.register(owner, bytes)
    },
    figures: () => ({ bytesMax, bytes: held, pinned, kinds }),
  }
}

const GONE: Holding = { touch() {}, release() {} }
