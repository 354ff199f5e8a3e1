/**
 * The audiences of restricted posts, for subgraphs that know only the id of a post. Bit 14 of the id says that a post is restricted, so public
 * posts need no lookup (`packed/post-id.ts`).
 *
 * An audience changes only if a viewer is erased (`write/erasure.ts`), and the tombstone of a post keeps it. So a process remembers the
 * audiences that it has read, and reads them again after a minute. A post that the stores do not have is not remembered: it may be
 * published later, under that id.
 */
import type { Clock } from '../../../core/clock.ts'
import type { BusinessNumber, MarkKey, ViewerId } from '../../../core/domain.ts'
import type { Degraded } from '../../../core/outage/degraded.ts'
import { makeSieveCache } from '../../../core/sieve/sieve.ts'
import type { Audience } from '../../audience.ts'
import { isPostId, isRestrictedId, type PostId } from '../packed/post-id.ts'
import { readPosts, type PostStores } from './contents.ts'
import { noteLacks } from './values.ts'

const REMEMBER_MS = 60_000
const REMEMBERED = { entriesMax: 8_192, bytesMax: 8 * 1024 * 1024 }
/** Bytes of an entry and of an id in it, besides its characters. */
const ENTRY_BYTES = 100
const ID_BYTES = 24

/** `business`: the number of the posts' business. */
export function makePostAudience(
  clock: Clock,
  stores: PostStores,
  { business, regions }: { business: BusinessNumber; regions: number },
): Audience {
  const remembered = makeSieveCache<readonly ViewerId[]>(clock, REMEMBERED)

  /** The viewers of these posts, as far as the stores have them. */
  async function viewersOf(ids: ReadonlySet<PostId>, degraded: Degraded): Promise<Map<PostId, readonly ViewerId[]>> {
    const found = new Map<PostId, readonly ViewerId[]>()
    const unknown: PostId[] = []
    for (const id of ids) {
      const viewers = remembered.get(id)
      if (viewers === undefined) unknown.push(id)
      else found.set(id, viewers)
    }
    for (const { id, post, lacks } of await readPosts(stores, unknown)) {
      noteLacks(lacks, degraded)
      if (post === undefined) continue
      const viewers = [post.author, ...(post.audience ?? [])]
      found.set(id, viewers)
      remembered.set(
        id,
        viewers,
        viewers.reduce((sum, viewer) => sum + ID_BYTES + viewer.length, ENTRY_BYTES),
        REMEMBER_MS,
      )
    }
    return found
  }

  return {
    isRestricted: ({ business: number, oid }) => number === business && isPostId(oid, regions) && isRestrictedId(oid),
    async maySeeMany(keys: readonly MarkKey[], degraded: Degraded) {
      const lacked: Degraded = new Set()
      const viewers = await viewersOf(new Set(keys.map(({ oid }) => oid)), lacked)
      for (const store of lacked) degraded.add(store)
      return keys.map(({ viewer, oid }) => viewers.get(oid)?.includes(viewer) || (lacked.size > 0 ? null : false))
    },
  }
}
