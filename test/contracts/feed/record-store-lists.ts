/** Contract of the record store of the feed: outboxes and inboxes, in parts. */
import { expect, it } from 'vitest'
import { unpackIds } from '../../../subgraphs/feed/packed/vector.ts'
import { freshNamedViewer, freshViewer, numbered } from '../reports.ts'
import { somePost, deletedPost } from './record-posts.ts'
import type { FeedRecordsSubject } from './record-store-subject.ts'

export function feedListsContract({ store }: FeedRecordsSubject): void {
  it('an outbox has the public posts of its author alone, and an inbox the posts of others for its viewer alone', async () => {
    const [author, other, viewer] = [freshViewer(), freshNamedViewer(), freshNamedViewer()]
    const posts = [
      somePost({ author }),
      somePost({ author, audience: [viewer, author] }),
      somePost({ author: other }),
      somePost({ author }),
    ]
    await store().putPosts(posts)
    const ids = posts.map(({ id }) => id)
    const outboxes = await store().listOutboxMany([other, author, viewer], undefined, 10)
    expect(outboxes.map((part) => unpackIds(part.ids))).toEqual([[ids[2]], [ids[0], ids[3]], []])
    const inboxes = await store().listInboxMany([viewer, other, author], undefined, 10)
    expect(inboxes.map((part) => unpackIds(part.ids))).toEqual([[ids[1]], [], []])
  })

  it('a part has the newest ids in ascending order, and says exactly whether more follow', async () => {
    const author = freshViewer()
    const viewer = freshViewer()
    const posts = numbered(5).map(() => somePost({ author }))
    const sent = numbered(5).map(() => somePost({ author, audience: [viewer] }))
    await store().putPosts([...posts, ...sent])
    for (const [ids, list] of [
      [posts.map(({ id }) => id), (limit: number, before?: string) => store().listOutboxMany([author], before, limit)],
      [sent.map(({ id }) => id), (limit: number, before?: string) => store().listInboxMany([viewer], before, limit)],
    ] as const) {
      const read = async (limit: number, before?: string) => {
        const [part] = await list(limit, before)
        return { ids: unpackIds(part?.ids as Buffer), hasMore: part?.hasMore }
      }
      expect(await read(3)).toEqual({ ids: ids.slice(2), hasMore: true })
      expect(await read(5)).toEqual({ ids, hasMore: false })
      expect(await read(3, ids[2])).toEqual({ ids: ids.slice(0, 2), hasMore: false })
      expect(await read(1, ids[2])).toEqual({ ids: ids.slice(1, 2), hasMore: true })
      expect(await read(3, ids[0])).toEqual({ ids: [], hasMore: false })
      // Between two ids, and above all.
      expect(await read(2, String(BigInt(ids[3] as string) - 1n))).toEqual({ ids: ids.slice(1, 3), hasMore: true })
      expect(await read(2, '9223372036854775807')).toEqual({ ids: ids.slice(3), hasMore: true })
    }
  })

  it('thousands of authors are read in one call, in order, an author twice if asked twice', async () => {
    const authors = numbered(2_500).map((name) => (Number(name) % 3 === 0 ? freshNamedViewer() : freshViewer()))
    const posts = authors.flatMap((author, place) => numbered(place % 4).map(() => somePost({ author })))
    await store().putPosts(posts)
    const byAuthor = Map.groupBy(posts, ({ author }) => author)
    const asked = [...authors.toReversed(), authors[3] as string]
    const parts = await store().listOutboxMany(asked, undefined, 2)
    expect(parts.map(({ ids, hasMore }) => ({ ids: unpackIds(ids), hasMore }))).toEqual(
      asked.map((author) => {
        const ids = (byAuthor.get(author) ?? []).map(({ id }) => id)
        return { ids: ids.slice(-2), hasMore: ids.length > 2 }
      }),
    )
  })

  it('a list of thousands is read in parts of 500 without gaps or repetitions, tombstones left out', async () => {
    const author = freshNamedViewer()
    const posts = numbered(2_200).map(() => somePost({ author }))
    await store().putPosts(posts)
    await store().putPosts(posts.filter((_, place) => place % 7 === 0).map((post) => deletedPost(post)))
    const ids: string[] = []
    for (let hasMore = true; hasMore;) {
      const [part] = await store().listOutboxMany([author], ids[0], 500)
      ids.unshift(...unpackIds(part?.ids as Buffer))
      hasMore = part?.hasMore === true
    }
    expect(ids).toEqual(posts.filter((_, place) => place % 7 !== 0).map(({ id }) => id))
  })
}
