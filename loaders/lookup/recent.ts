/**
 * Tells which texts came within the last period, so that repeated work for them can be left out: a direct-mapped table of 32-bit
 * fingerprints, emptied when a period ends. A text that replaced another one's fingerprint makes the other one count as new. Two texts with
 * the same fingerprint count as one.
 */
import { fnv1a } from '../../core/regions.ts'

/** 256 KB: it stays in the second cache of a core, which the values themselves do not. */
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
    /** True if the text came in this period. Otherwise it has come now. */
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
