/**
 * The viewers and videos of the site, and what is stored before the load begins. Every process of the benchmark makes the same ones.
 *
 * Readers open pages. They have a history, likes and filters. Further viewers only watch. Viewers of home feeds are apart from both, because
 * the posts of the feed have a dataset of their own (bench/feed/dataset.ts). Popularity follows Zipf's law.
 */
import { seededRandom, type Random } from '../../core/random.ts'
import type { OpenStores } from '../../cli/stores/history.ts'
import { makeZipf } from '../../harness/samples/zipf.ts'
import { storeFilters, storeHistory, storeLikes, type Facts } from '../../harness/samples/stored-facts.ts'
import { makeDataset, type Dataset } from '../feed/dataset.ts'
import { fillFeed } from '../feed/product.ts'
import { FOLLOWED } from './operations.ts'

/** `videos`: the catalogue, of which every page and every set of candidates is made. */
export type SiteSize = { readers: number; videos: number; authors: number; postsEach: number; homeViewers: number }

const VIDEO = 1
const FIRST_WATCHER = 100_000
/** Subjects that are no longer in the catalogue. Nobody reports them during the load, so no history page loses an entry. */
const FIRST_OLD_VIDEO = 1_000_000
const OLD_VIDEOS = 50_000
const STORED_EACH = { history: 12, likes: 10, seen: 100 }
const TIMELINE_CAP = 1_000
const SINCE = 1_700_000_000_000
const POPULARITY = 0.9

/** The viewer of a player. The first ones are the readers. */
export function watcherAt(place: number): string {
  return String(FIRST_WATCHER + place)
}

export function makeVideoDraw(random: Random, { videos }: SiteSize): () => string {
  const draw = makeZipf(random, videos, POPULARITY)
  return () => String(1 + draw())
}

/** The part of all views that the most popular video has. */
export function popularShare({ videos }: SiteSize): number {
  let sum = 0
  for (let rank = 1; rank <= videos; rank++) sum += rank ** -POPULARITY
  return 1 / sum
}

export function makeSocial({ authors, postsEach, homeViewers }: SiteSize): Dataset {
  return makeDataset({ authors, postsEach, viewers: homeViewers, followers: 0, followsEach: FOLLOWED })
}

export async function fillSite(stores: OpenStores, size: SiteSize, social: Dataset): Promise<void> {
  const random = seededRandom(7)
  const draw = makeVideoDraw(random, size)
  const facts = (each: number, id: () => string): Facts[] =>
    Array.from({ length: size.readers }, (_, place) => {
      const oids = new Set<string>()
      while (oids.size < each) oids.add(id())
      return { viewer: watcherAt(place), oids: [...oids] }
    })
  await fillFeed(stores, social)
  const watched = facts(STORED_EACH.history, () => String(FIRST_OLD_VIDEO + Math.floor(random() * OLD_VIDEOS)))
  await storeHistory(stores.hot, stores.records, VIDEO, watched, TIMELINE_CAP)
  await storeLikes(stores.marks.records, VIDEO, facts(STORED_EACH.likes, draw), SINCE)
  await storeFilters(stores.seen.records, VIDEO, facts(STORED_EACH.seen, draw))
}
