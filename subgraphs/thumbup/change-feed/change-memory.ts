/**
 * The last version of each subject and owner that went downstream. It drops repeated and older changes. A change carries whole values, so a
 * consumer that adds up differences counts exactly, even if a version was skipped because a higher one came first.
 *
 * The memory is bounded: beyond `keysMax` it forgets the key with the oldest change. That is harmless once the change feed has read past
 * that moment, since nothing so old comes again. A key that is forgotten earlier is counted as `risked`.
 */
import type { CountChanges } from './count-feed.ts'

export type ChangeMemory = {
  /** The changes that are newer than the kept versions. Of several versions of a key, each one above its predecessors. */
  newOf(changes: CountChanges): CountChanges
  /** Keeps changes that went downstream at `now`. Nothing older than `readUntil` can come again. */
  keep(changes: CountChanges, now: number, readUntil: number): void
  size(): number
  /** Keys forgotten since the last call although their changes may come again. */
  takeRisked(): number
}

type Known = { version: number; keptAt: number }

export function makeChangeMemory(keysMax: number): ChangeMemory {
  /** In the order of their last change. */
  const known = new Map<string, Known>()
  let risked = 0

  function newOf({ counts, owners }: CountChanges): CountChanges {
    const seen = new Map<string, number>()
    const isNew = (key: string, version: number): boolean => {
      if (version <= (seen.get(key) ?? known.get(key)?.version ?? 0)) return false
      seen.set(key, version)
      return true
    }
    return {
      counts: counts.filter((each) => isNew(countKey(each.business, each.oid), each.counts.version)),
      owners: owners.filter((each) => isNew(ownerKey(each.business, each.owner), each.version)),
    }
  }

  function keep({ counts, owners }: CountChanges, now: number, readUntil: number): void {
    for (const each of counts) put(countKey(each.business, each.oid), each.counts.version, now)
    for (const each of owners) put(ownerKey(each.business, each.owner), each.version, now)
    for (const [key, { keptAt }] of known) {
      if (known.size <= keysMax) break
      known.delete(key)
      if (keptAt >= readUntil) risked++
    }
  }

  function put(key: string, version: number, keptAt: number): void {
    known.delete(key)
    known.set(key, { version, keptAt })
  }

  function takeRisked(): number {
    const count = risked
    risked = 0
    return count
  }

  return { newOf, keep, size: () => known.size, takeRisked }
}

function countKey(business: number, oid: string): string {
  return `c${business}:${oid}`
}

function ownerKey(business: number, owner: string): string {
  return `o${business}:${owner}`
}
