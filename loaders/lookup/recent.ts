/**
 * Reports which texts already came in the current period, so that callers can skip repeated work. It is a direct-mapped table of 32-bit
 * fingerprints, which the first call of each new period empties. If a text replaces the fingerprint of another text in its cell, the other
 * text counts as new again. Two texts with the same fingerprint count as one.
 */
import { fnv1a } from '../../core/regions.ts'

/** 256 KB: the table stays in the L2 cache of a core. The values themselves do not. */
const CELLS = 2 ** 16

export function makeRecent(periodMs: number) {
  const prints = new Uint32Array(CELLS)
  let periodBegan = -Infinity

  /** 0 is an empty cell. */
  const printOf = (text: string): number => fnv1a(text) || 1

  function clear(): void {
    prints.fill(0)
  }

  return {
    /** True if the text already came in this period. Otherwise records it and returns false. */
    has(text: string, now: number): boolean {
      if (now >= periodBegan + periodMs || now < periodBegan) {
        clear()
        periodBegan = now
      }
      const print = printOf(text)
      const cell = print % CELLS
      if (prints[cell] === print) return true
      prints[cell] = print
      return false
    },
    forget(text: string): void {
      prints[printOf(text) % CELLS] = 0
    },
    clear,
  }
}
