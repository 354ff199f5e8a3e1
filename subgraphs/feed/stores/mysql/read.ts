/**
 * Reads of posts, lists and filter words: few statements for thousands of keys. A call has only some of them under way, so that a cold page
 * of thousands of authors leaves connections for other reads.
 */
import type { ViewerId } from '../../../../core/domain.ts'
import { unpackId } from '../../../../core/keys.ts'
import type { Database } from '../../../../stores/mysql/database.ts'
import { idLiteral } from '../../../../stores/mysql/literals.ts'
import { KEYS_MAX, placed } from '../../../../stores/mysql/tuples.ts'
import { chunked } from '../../../../stores/chunks.ts'
import { decodePost, decodeWords } from '../../model/post-codec.ts'
import type { FilterWords, Post } from '../../model/post.ts'
import type { PostId } from '../../packed/post-id.ts'
import type { FeedRecords, ListPart } from '../record-store.ts'
import { postKeyTuple } from './put.ts'
import {
  COUNT_POSTS,
  selectAllPosts,
  selectAllWords,
  selectInboxes,
  selectOutboxes,
  selectPosts,
  selectPostsOf,
  selectWords,
} from './statements.ts'

/** Lists per statement. Parsing takes longer per list in larger ones. */
const LISTS_MAX = 64
/** Statements of a call that are under way at once: half of the default connections. */
const LANES = 4
/** Counts and lists of all are for operators, who can wait. */
const COUNT_TIMEOUT_MS = 600_000

type SelectLists = typeof selectOutboxes

type FeedReads = Pick<
  FeedRecords,
  'getPostMany' | 'getWordsMany' | 'listOutboxMany' | 'listInboxMany' | 'listPosts' | 'listWords' | 'countPosts'
>

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
    return readInLanes(chunked(owners, LISTS_MAX), read)
  }

  return {
    async getPostMany(ids) {
      const read = async (some: readonly PostId[]): Promise<(Post | undefined)[]> => {
        const found = some.map((): Post | undefined => undefined)
        for (const [place, , bytes] of (await database.send(selectPosts(placed(some.map(postKeyTuple))))).rows)
          found[Number(place)] = decodePost(some[Number(place)] as PostId, bytes as Buffer)
        return found
      }
      return readInLanes(chunked(ids, KEYS_MAX), read)
    },

    async getWordsMany(viewers) {
      const read = async (some: readonly ViewerId[]): Promise<(FilterWords | undefined)[]> => {
        const found = some.map((): FilterWords | undefined => undefined)
        for (const [place, bytes] of (await database.send(selectWords(placed(some.map((viewer) => [idLiteral(viewer)]))))).rows)
          found[Number(place)] = decodeWords(bytes as Buffer)
        return found
      }
      return readInLanes(chunked(viewers, KEYS_MAX), read)
    },

    listOutboxMany: (authors, before, limit) => listMany(selectOutboxes, authors, before, limit),
    listInboxMany: (viewers, before, limit) => listMany(selectInboxes, viewers, before, limit),

    async listPosts(after, limit, author) {
      const place = after === undefined ? undefined : postKeyTuple(after)
      const select = author === undefined ? selectAllPosts(place, limit) : selectPostsOf(author, after, limit)
      return (await database.send(select, COUNT_TIMEOUT_MS)).rows.map(([id, post]) => decodePost(unpackId(id as Buffer, 0), post as Buffer))
    },

    async listWords(after, limit) {
      const { rows } = await database.send(selectAllWords(after, limit))
      return rows.map(([viewer, words]) => ({ viewer: unpackId(viewer as Buffer, 0), words: decodeWords(words as Buffer) }))
    },

    async countPosts() {
      return Number((await database.send(COUNT_POSTS, COUNT_TIMEOUT_MS)).rows[0]?.[0])
    },
  }
}

/** In the order of the chunks. */
async function readInLanes<K, V>(chunks: readonly K[][], read: (chunk: readonly K[]) => Promise<V[]>): Promise<V[]> {
  const answers: V[][] = []
  let next = 0
  async function lane(): Promise<void> {
    for (let at = next++; at < chunks.length; at = next++) answers[at] = await read(chunks[at] as K[])
  }
  await Promise.all(Array.from({ length: LANES }, lane))
  return answers.flat()
}
