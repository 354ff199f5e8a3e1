/**
 * The versions that a writing call gives out. One counter serves all regions: it grows strictly, which is all that a region
 * needs, and a call writes it once instead of once per region. It is read and written inside the call's transaction, so two
 * processes never give out the same version.
 */
import { versionAfter } from '../../core/version.ts'
import type { Bytes } from './environment.ts'

export type VersionCounter = { readonly counters: Bytes; last: number; changed: boolean }

const KEY = Buffer.from('version')
const UNREAD = -1
const scratch = Buffer.allocUnsafeSlow(8)

/** A counter for one call; it lives as long as the call's transaction. */
export function beginVersions(counters: Bytes): VersionCounter {
  return { counters, last: UNREAD, changed: false }
}

/** The next version: above all that were given out, above `above`, and not behind the clock. */
export function nextVersion(counter: VersionCounter, now: number, above: number): number {
  counter.last = versionAfter(lastVersion(counter), now, above)
  counter.changed = true
  return counter.last
}

/** Makes all later versions higher than this one, which came from another store. */
export function passVersion(counter: VersionCounter, version: number): void {
  if (version <= lastVersion(counter)) return
  counter.last = version
  counter.changed = true
}

/** The last version that was given out. */
export function lastVersion(counter: VersionCounter): number {
  if (counter.last === UNREAD) {
    const value = counter.counters.getBinaryFast(KEY)
    counter.last = value === undefined ? 0 : value.readDoubleBE(0)
  }
  return counter.last
}

export function settleVersions({ counters, last, changed }: VersionCounter): void {
  if (!changed) return
  scratch.writeDoubleBE(last)
  void counters.put(KEY, scratch)
}
