/**
 * The lines of `tidemark export-business` for the feed, which only the business of the posts has:
 *
 *     {"kind":"post","id":"…","author":"7","text":"…","media":[],"source":"…","audience":["9"],"clientKey":"…","version":5}
 *     {"kind":"words","viewer":"7","words":["…"],"version":5}
 *     {"kind":"follow","viewer":"7","id":"9","markedAt":1700000000000}
 *     {"kind":"count","id":"…","counts":{"repost":1},"version":5}          of a post
 *     {"kind":"user-count","id":"7","counts":{"post":1},"version":5}
 *
 * A public post has no audience. Deleted posts are left out. As for marks, changes that are not persisted yet are missing.
 */
import { FOLLOW_BUSINESS } from '../../config/feed.ts'
import type { BusinessNumber, MarkKey } from '../../core/domain.ts'
import { USERS } from '../../subgraphs/feed/model/post-events.ts'
import type { MarkRecords } from '../../subgraphs/thumbup/stores/record-store.ts'
import type { FeedRecordStores } from '../stores/feed.ts'

const PAGE = 1_000

/** Pages of lines. `follows`: the common record store of marks. */
export async function* feedExport(
  { posts, counters }: FeedRecordStores,
  follows: Pick<MarkRecords, 'exportMarks'>,
  business: BusinessNumber,
): AsyncGenerator<object[]> {
  yield* pages(
    (after: string | undefined) => posts.listPosts(after, PAGE),
    ({ id }) => id,
    (post) => ({ kind: 'post', ...post, deleted: undefined }),
  )
  yield* pages(
    (after: string | undefined) => posts.listWords(after, PAGE),
    ({ viewer }) => viewer,
    ({ viewer, words }) => (words.words.length === 0 ? undefined : { kind: 'words', viewer, ...words }),
  )
  yield* pages(
    (after: MarkKey | undefined) => follows.exportMarks(FOLLOW_BUSINESS, after, PAGE),
    ({ key }) => key,
    ({ key, record }) => ({ kind: 'follow', viewer: key.viewer, id: key.oid, markedAt: record.markedAt }),
  )
  for (const [kind, number] of [['count', business] as const, ['user-count', USERS] as const]) {
    yield* pages(
      (after: string | undefined) => counters.listTotals(number, after, PAGE),
      ({ subject }) => subject.oid,
      ({ subject, counts, version }) => ({ kind, id: subject.oid, counts, version }),
    )
  }
}

async function* pages<T, P>(
  read: (after: P | undefined) => Promise<T[]>,
  placeOf: (row: T) => P,
  lineOf: (row: T) => object | undefined,
): AsyncGenerator<object[]> {
  for (let after: P | undefined; ;) {
    const rows = await read(after)
    const last = rows.at(-1)
    if (last === undefined) return
    yield rows.flatMap((row) => lineOf(row) ?? [])
    after = placeOf(last)
  }
}
