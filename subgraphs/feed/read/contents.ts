/**
 * Posts by id, through the cache. A tombstone is a post, with `deleted`. A load reads the hot store, and the record store for the rest.
 */
import type { Clock } from '../../../core/clock.ts'
import type { Degraded } from '../../../core/outage/degraded.ts'
import type { IsIntact, Stamped, TieredCache } from '../../../cache/tiered-cache.ts'
import { contentKey } from '../model/cache-keys.ts'
import type { Post } from '../model/post.ts'
import { createdAtOf, regionOfPost, type PostId } from '../packed/post-id.ts'
import { LACKS_HOT_STORE, LACKS_RECORD_STORE } from '../packed/section.ts'
import type { VersionFloor } from './freshness.ts'
import { readHot, readRecords } from './overlay.ts'
import type { ReadStores } from './sections.ts'
import { decodeContent, encodeContent, isContent, noteLacks, stampOf } from './values.ts'

/** No post gets an id with an older time than this, because the clocks of servers do not differ by more. */
const NEW_MS = 60_000

export type PostStores = { hot: Pick<ReadStores['hot'], 'getPostMany'>; records: Pick<ReadStores['records'], 'getPostMany'> }

export type Contents = {
  /** In order. Undefined: there is no such post, or a store that may have it is down, which `degraded` names. */
  getMany(ids: readonly PostId[], floorOf: VersionFloor, degraded: Degraded): Promise<(Post | undefined)[]>
}

/** A post as the stores have it, and the stores that did not answer. */
export type ReadPost = { id: PostId; post: Post | undefined; lacks: number }

/** In order. */
export async function readPosts({ hot, records }: PostStores, ids: readonly PostId[]): Promise<ReadPost[]> {
  if (ids.length === 0) return []
  // A viewer whose id is a region's number belongs to that region, as the author does.
  const items = ids.map((id) => ({ viewer: String(regionOfPost(id)), id }))
  const hotPosts = await readHot(items, async (some) => (await hot.getPostMany(some.map(({ id }) => id))).map((post) => post ?? null))
  const missing = items.filter((_, at) => !hotPosts[at]).map(({ id }) => id)
  const stored = await readRecords(missing.length, async () => (await records.getPostMany(missing)).map((post) => post ?? null))
  const storedById = new Map(missing.map((id, at) => [id, stored[at]]))
  return ids.map((id, at) => {
    const hotPost = hotPosts[at]
    const lacks = (hotPost === undefined ? LACKS_HOT_STORE : 0) | (!hotPost && storedById.get(id) === undefined ? LACKS_RECORD_STORE : 0)
    return { id, post: hotPost ?? storedById.get(id) ?? undefined, lacks }
  })
}

export function makeContents(stores: PostStores, cache: TieredCache, clock: Clock): Contents {
  async function load(keys: readonly string[], floorOf: VersionFloor): Promise<(Stamped | undefined)[]> {
    const floors = keys.map(floorOf)
    const found = await readPosts(
      stores,
      keys.map((key) => key.slice(1)),
    )
    return found.map(({ id, post, lacks }, at) => {
      if (post) return { value: encodeContent(post, lacks), version: stampOf(lacks, post.version, floors[at] as number) }
      // A guessed id of the next moment must not be remembered as absent.
      const isFinal = lacks === 0 && createdAtOf(id) < clock.now() - NEW_MS
      return isFinal ? undefined : { value: encodeContent(undefined, lacks), version: -1 }
    })
  }

  const isIntact: IsIntact = (key, value) => isContent(key.slice(1), value)

  return {
    async getMany(ids, floorOf, degraded) {
      const values = await cache.getMany(ids.map(contentKey), (keys) => load(keys, floorOf), floorOf, isIntact)
      return values.map((stamped, at) => {
        if (stamped === undefined) return undefined
        const { post, lacks } = decodeContent(ids[at] as PostId, stamped.value)
        noteLacks(lacks, degraded)
        return post
      })
    },
  }
}
