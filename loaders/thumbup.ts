/**
 * The loaders of thumbup: one set per request, like those of history (`history.ts`). Concurrent requests share store calls. A business may
 * have its own stores: its keys are read separately, and a failure there affects only them.
 */
import DataLoader from 'dataloader'
import { apartIfDamaged, type DamagedData } from '../core/outage/damaged-data.ts'
import { noteLack, type Degraded, type MayLack } from '../core/outage/degraded.ts'
import type { BusinessNumber, MarkKey, Subject, SubjectCounts } from '../core/domain.ts'
import { apartIfPartIsOut } from '../core/outage/part-outage.ts'
import { keyText } from '../core/progress-key.ts'
import type { MarkRecords } from '../subgraphs/thumbup/stores/record-store.ts'
import { subjectText, type CountReads } from './counts.ts'
import { getMarkMany, type MarkSources, type ShownMark } from './marks.ts'
import { ownerText, type OwnerKey, type OwnerReads } from './owner-likes.ts'
import { answerFromHot, makeHotFirst, UNANSWERED, type HotAnswer } from './lookup/hot-first.ts'
import { noted, withoutStores, type Incomplete } from './lookup/incomplete.ts'
import { makeJoinedLookup } from './lookup/joined.ts'

export type ThumbupLoaders = {
  /** The viewer's mark of a subject; null if no available store knows it. */
  marks: DataLoader<MarkKey, ShownMark | null, string>
  /** The public counts; null if no store answers. */
  counts: DataLoader<Subject, SubjectCounts | null, string>
  /** Like `counts`, but with everything counted by now, for viewers who must see their own mark in them. */
  freshCounts: DataLoader<Subject, SubjectCounts | null, string>
  /** Whether the viewer may see a restricted subject; null if a store that knows it does not answer. */
  maySee: DataLoader<MarkKey, boolean | null, string>
  /** Likes received by an owner; null if no store answers. */
  ownerLikes: DataLoader<OwnerKey, number | null, string>
  /** Loads a whole page, in key order, with an error for each key of a failed store. Nothing is cached. */
  markPage(keys: readonly MarkKey[]): Promise<readonly (ShownMark | null | Error)[]>
  countPage(subjects: readonly Subject[]): Promise<readonly (SubjectCounts | null | Error)[]>
}

/** The stores of a business, as the loaders read them. */
export type ThumbupSources = MarkSources & {
  records: Pick<MarkRecords, 'getMarkMany'>
  counts: CountReads
  owners: OwnerReads
  mayLack: MayLack
}

type Found = ShownMark | null | Incomplete<ShownMark | null> | DamagedData<MarkKey>

const BATCH_MAX = 1_000

/** `maySeeMany`: in key order, and null as in `ThumbupLoaders`. */
export function makeThumbupLoaders<S extends ThumbupSources>(
  sourcesOf: (business: BusinessNumber) => S,
  maySeeMany: (keys: readonly MarkKey[], degraded: Degraded) => Promise<(boolean | null)[]>,
): (degraded: Degraded, lasting?: boolean) => ThumbupLoaders {
  const lookups = new Map<S, (keys: readonly MarkKey[]) => Promise<readonly Found[]>>()

  /** Lookups of many viewers are one. Damaged marks of one viewer are an error for that viewer only. */
  function marksOf(sources: S): (keys: readonly MarkKey[]) => Promise<readonly Found[]> {
    let lookup = lookups.get(sources)
    if (lookup === undefined) {
      const together = async (keys: readonly MarkKey[]): Promise<readonly Found[]> => {
        const without: Degraded = new Set()
        return withoutStores(await getMarkMany(sources, keys, without), without)
      }
      const readHot = async (keys: readonly MarkKey[]): Promise<readonly HotAnswer<Found>[]> =>
        (await sources.hot.getMarkMany(keys)).map((mark) => (mark.older === undefined ? mark : UNANSWERED))
      lookup = makeHotFirst<MarkKey, Found>(
        makeJoinedLookup((keys) => answerFromHot(keys, readHot)),
        makeJoinedLookup((keys) => apartIfPartIsOut(keys, (some) => apartIfDamaged(some, together))),
      )
      lookups.set(sources, lookup)
    }
    return lookup
  }

  async function loadMarks(sources: S, keys: readonly MarkKey[], degraded: Degraded): Promise<(ShownMark | null | DamagedData<MarkKey>)[]> {
    // Noted before the lookup and for each request by itself: pending writes of one viewer do not affect the answers
    // of others.
    noteLack(keys, sources.mayLack, degraded)
    return noted(await marksOf(sources)(keys), degraded)
  }

  /** Values in key order; an error for each key of the stores that failed. */
  async function bySources<K extends { business: BusinessNumber }, V>(
    keys: readonly K[],
    load: (sources: S, keys: readonly K[]) => Promise<readonly (V | Error)[]>,
  ): Promise<readonly (V | Error)[]> {
    const [first] = keys
    if (first !== undefined && keys.every(({ business }) => business === first.business)) {
      return settled(keys, load(sourcesOf(first.business), keys))
    }
    const values: (V | Error)[] = []
    const groups = Map.groupBy(keys.keys(), (place) => sourcesOf((keys[place] as K).business))
    await Promise.all(
      Array.from(groups, async ([sources, places]) => {
        const some = places.map((place) => keys[place] as K)
        const found = await settled(some, load(sources, some))
        places.forEach((place, index) => (values[place] = found[index] as V | Error))
      }),
    )
    return values
  }

  return (degraded, lasting = false) => {
    const markPage = (keys: readonly MarkKey[]) =>
      bySources<MarkKey, ShownMark | null>(keys, (sources, some) => loadMarks(sources, some, degraded))
    const countPage = (subjects: readonly Subject[]) => bySources(subjects, (sources, some) => sources.counts.getMany(some, degraded))
    return {
      marks: new DataLoader(markPage, { cache: !lasting, cacheKeyFn: keyText, maxBatchSize: BATCH_MAX }),
      counts: new DataLoader(countPage, { cache: !lasting, cacheKeyFn: subjectText, maxBatchSize: BATCH_MAX }),
      freshCounts: new DataLoader(
        (subjects: readonly Subject[]) => bySources(subjects, (sources, some) => sources.counts.getFresh(some, degraded)),
        { cache: !lasting, cacheKeyFn: subjectText, maxBatchSize: BATCH_MAX },
      ),
      maySee: new DataLoader((keys: readonly MarkKey[]) => maySeeMany(keys, degraded), {
        ...{ cache: !lasting, cacheKeyFn: keyText, maxBatchSize: BATCH_MAX },
      }),
      ownerLikes: new DataLoader(
        (owners: readonly OwnerKey[]) =>
          bySources(owners, async (sources, some) => (await sources.owners.getMany(some, degraded)).map((sum) => sum?.likes ?? null)),
        { cache: !lasting, cacheKeyFn: ownerText, maxBatchSize: BATCH_MAX },
      ),
      markPage,
      countPage,
    }
  }
}

/** An error for each key if the loading failed as a whole. */
async function settled<V>(keys: readonly unknown[], loading: Promise<readonly (V | Error)[]>): Promise<readonly (V | Error)[]> {
  try {
    return await loading
  } catch (error) {
    const failure = error instanceof Error ? error : new Error(String(error))
    return keys.map(() => failure)
  }
}
