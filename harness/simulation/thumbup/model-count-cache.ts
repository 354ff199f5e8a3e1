/** The count cache as documented in the port, in a few maps that may lose everything at any moment. */
import type { CountCache, CachedLikers } from '../../../subgraphs/thumbup/stores/count-cache.ts'
import type { BusinessNumber, OwnerSum, SubjectCounts, ViewerId } from '../../../core/domain.ts'
import { atOnce, type Gate } from '../gate.ts'

export type CountCacheFaults = {
  /** Keeps the last arrival, regardless of its version. */
  ignoresVersions?: boolean
}

type Following = { of: Map<string, number>; tell(counted: { business: BusinessNumber; oid: string; counts: SubjectCounts }): void }

export type CountCacheState = ReturnType<typeof makeCountCacheState>

export function makeCountCacheState(faults: CountCacheFaults = {}) {
  return {
    faults,
    counts: new Map<string, SubjectCounts>(),
    likers: new Map<string, CachedLikers>(),
    sums: new Map<string, Pick<OwnerSum, 'likes' | 'version'>>(),
    following: new Set<Following>(),
    lose(): void {
      this.counts.clear()
      this.likers.clear()
      this.sums.clear()
    },
  }
}

/** The port of one process. Keys are on several nodes, so a call with many keys may happen key by key. */
export function openModelCountCache(state: CountCacheState, gate: Gate): CountCache {
  const { faults, counts, likers, sums, following } = state
  const once = <T>(name: string, args: readonly unknown[], act: () => T): Promise<T> => atOnce(gate, 'cache', name, args, act)

  function each<T, R>(name: string, items: readonly T[], act: (item: T) => R): Promise<R[]> {
    const results: R[] = []
    const parts = items.map((item, place) => () => void (results[place] = act(item)))
    return gate.call('cache', name, [items], parts, () => results)
  }

  function keep<T extends { version: number }>(map: Map<string, T>, text: string, value: T): boolean {
    const held = map.get(text)
    if (faults.ignoresVersions !== true && held !== undefined && held.version >= value.version) return false
    map.set(text, value)
    return true
  }

  return {
    getCountsMany: (subjects) => each('getCountsMany', subjects, (subject) => counts.get(subjectText(subject))),
    putCounts: (counted) =>
      each('putCounts', counted, (item) => {
        const text = subjectText(item)
        if (keep(counts, text, { ...item.counts })) for (const { of, tell } of following) if (of.has(text)) tell(structuredClone(item))
      }).then(() => undefined),
    getLikers: (subject) => once('getLikers', [subject], () => structuredClone(likers.get(subjectText(subject)))),
    putLikers: (subject, cached) =>
      once('putLikers', [subject], () => {
        const held = likers.get(subjectText(subject))
        // If versions are equal, the later read wins, because no part of it is older.
        if (held === undefined || held.version <= cached.version) likers.set(subjectText(subject), structuredClone(cached))
      }),
    getOwnerSums: (owners) => each('getOwnerSums', owners, (owner) => sums.get(ownerText(owner))),
    putOwnerSums: (all) =>
      each('putOwnerSums', all, (sum) => keep(sums, ownerText(sum), { likes: sum.likes, version: sum.version })).then(() => undefined),
    followCounts(listener) {
      const own: Following = { of: new Map(), tell: listener }
      following.add(own)
      return {
        add(subjects) {
          for (const text of subjects.map(subjectText)) own.of.set(text, (own.of.get(text) ?? 0) + 1)
          return once('followCounts', [subjects], () => undefined)
        },
        remove(subjects) {
          for (const text of subjects.map(subjectText)) {
            const left = (own.of.get(text) ?? 0) - 1
            if (left > 0) own.of.set(text, left)
            else own.of.delete(text)
          }
        },
        stop: () => void following.delete(own),
      }
    },
    forgetCounts: (business, limit) =>
      once('forgetCounts', [business], () => {
        let gone = 0
        for (const map of [counts, likers, sums]) {
          for (const text of map.keys()) if (gone < limit && text.startsWith(`${business}:`) && map.delete(text)) gone++
        }
        return gone
      }),
    countKept: (business) =>
      once('countKept', [business], () =>
        [counts, likers, sums].reduce((sum, map) => sum + [...map.keys()].filter((text) => text.startsWith(`${business}:`)).length, 0),
      ),
    check: () => once('check', [], () => undefined),
    close: () => Promise.resolve(),
  }
}

export function subjectText({ business, oid }: { business: BusinessNumber; oid: string }): string {
  return `${business}:${oid}`
}

export function ownerText({ business, owner }: { business: BusinessNumber; owner: ViewerId }): string {
  return `${business}:${owner}`
}
