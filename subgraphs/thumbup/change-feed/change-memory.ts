/**
 * Which version of each subject and owner went downstream last, so that nothing goes there twice or behind something newer.
 * A change carries whole values: who adds up differences between what he got last and what he gets now counts exactly, also
 * where a version was passed over because a higher one had come first.
 *
 * Bounded: beyond `keysMax` the key that changed longest ago is forgotten. That is harmless once the change feed has read on
 * beyond that moment, for then nothing so old comes again; a key forgotten before may, and is counted as `risked`.
 */
import type { CountChanges } from './count-feed.ts'

export type ChangeMemory = {
  /** Those that are newer than what was kept; of several versions in `changes`, each that is higher than those before it. */
  newOf(changes: CountChanges): CountChanges
  /** They went downstream at `now`; nothing older than `readUntil` can come again. */
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
