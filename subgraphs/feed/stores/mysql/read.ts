/** Reads of posts, lists and filter words: few statements for thousands of keys, all under way at once. */
import type { ViewerId } from '../../../../core/domain.ts'
import type { Database } from '../../../../stores/mysql/database.ts'
import { idLiteral } from '../../../../stores/mysql/literals.ts'
import { KEYS_MAX, chunked, placed } from '../../../../stores/mysql/tuples.ts'
import { decodePost, decodeWords } from '../../model/post-codec.ts'
import type { FilterWords, Post } from '../../model/post.ts'
import type { PostId } from '../../packed/post-id.ts'
import type { FeedRecords, ListPart } from '../record-store.ts'
import { postKeyTuple } from './put.ts'
import { COUNT_POSTS, selectInboxes, selectOutboxes, selectPosts, selectWords } from './statements.ts'

/** Lists per statement. Parsing takes longer per list in larger ones. */
const LISTS_MAX = 64
/** Counts are for operators, who can wait. */
const COUNT_TIMEOUT_MS = 600_000

type SelectLists = typeof selectOutboxes

type FeedReads = Pick<FeedRecords, 'getPostMany' | 'getWordsMany' | 'listOutboxMany' | 'listInboxMany' | 'countPosts'>

export function makeFeedReads(database: Database): FeedReads {
  /** Reads one entry more than the limit, to find out whether the list goes on. */
  async function listMany(
    select: SelectLists,
    owners: readonly ViewerId[],
    before: PostId | undefined,
    limit: number,
  ): Promise<ListPart[]> {
    const read = async (some: readonly ViewerId[]): Promise<ListPart[]> => {
      const lists = some.map((): Buffer[] => [])
      for (const [place, id] of (await database.send(select(some, before, limit + 1))).rows) lists[Number(place)]?.push(id as Buffer)
      return lists.map((ids) => {
        const newest = ids.sort(Buffer.compare).slice(-limit)
        return { ids: Buffer.concat(limit > 0 ? newest : []), hasMore: ids.length > limit }
      })
    }
    return (await Promise.all(chunked(owners, LISTS_MAX).map(read))).flat()
  }

  return {
    async getPostMany(ids) {
      const read = async (some: readonly PostId[]): Promise<(Post | undefined)[]> => {
        const found = some.map((): Post | undefined => undefined)
        for (const [place, , bytes] of (await database.send(selectPosts(placed(some.map(postKeyTuple))))).rows)
          found[Number(place)] = decodePost(some[Number(place)] as PostId, bytes as Buffer)
        return found
      }
      return (await Promise.all(chunked(ids, KEYS_MAX).map(read))).flat()
    },

    async getWordsMany(viewers) {
      const read = async (some: readonly ViewerId[]): Promise<(FilterWords | undefined)[]> => {
        const found = some.map((): FilterWords | undefined => undefined)
        for (const [place, bytes] of (await database.send(selectWords(placed(some.map((viewer) => [idLiteral(viewer)]))))).rows)
          found[Number(place)] = decodeWords(bytes as Buffer)
        return found
      }
      return (await Promise.all(chunked(viewers, KEYS_MAX).map(read))).flat()
    },

    listOutboxMany: (authors, before, limit) => listMany(selectOutboxes, authors, before, limit),
    listInboxMany: (viewers, before, limit) => listMany(selectInboxes, viewers, before, limit),

    async countPosts() {
      return Number((await database.send(COUNT_POSTS, COUNT_TIMEOUT_MS)).rows[0]?.[0])
    },
  }
}
