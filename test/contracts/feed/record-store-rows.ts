/** Contract of the record store of the feed: posts and filter words by key, versions, tombstones. */
import { expect, it } from 'vitest'
import { unpackIds } from '../../../subgraphs/feed/packed/vector.ts'
import type { Post } from '../../../subgraphs/feed/model/post.ts'
import type { WordsRow } from '../../../subgraphs/feed/stores/record-store.ts'
import { postIdOf } from '../../../subgraphs/feed/packed/post-id.ts'
import { freshNamedViewer, freshViewer, numbered } from '../reports.ts'
import { nextTick, somePost, deletedPost } from './record-posts.ts'
import type { FeedRecordsSubject } from './record-store-subject.ts'

export function feedRowsContract({ store, another, reopen }: FeedRecordsSubject): void {
  async function inboxOf(viewer: string): Promise<string[]> {
    const [part] = await store().listInboxMany([viewer], undefined, 100)
    return unpackIds(part?.ids as Buffer)
  }

  async function outboxOf(author: string): Promise<string[]> {
    const [part] = await store().listOutboxMany([author], undefined, 100)
    return unpackIds(part?.ids as Buffer)
  }

  it('posts are read back with all their fields, in key order, also after the store is opened again', async () => {
    const source = somePost()
    const posts = [
      source,
      somePost({
        author: freshNamedViewer(),
        text: 'a "quoted" text; -- with ü, 🙂 and \u0000',
        media: ['https://a.example/1.jpg', 'https://b.example/ü'],
      }),
      somePost({ text: '', source: source.id, clientKey: 'k'.repeat(64) }),
      somePost({ text: 'x'.repeat(2_000), audience: [freshViewer(), freshNamedViewer(), 'x'.repeat(64)] }),
      deletedPost(somePost({ audience: [freshViewer()] })),
      somePost({ id: '9223372036854775807' }),
    ]
    await store().putPosts(posts)
    const asked = [5, 2, 0, 1, 4, 3, 0].flatMap((place) => posts[place] ?? [])
    expect(await store().getPostMany(asked.map(({ id }) => id))).toEqual(asked)
    await reopen()
    expect(await store().getPostMany(asked.map(({ id }) => id))).toEqual(asked)
  })

  it('all posts and all filter words are listed once each, tombstones left out, in pages of any size', async () => {
    const [author, viewers] = [freshNamedViewer(), [freshViewer(), freshNamedViewer(), freshViewer()]]
    const posts = numbered(7).map((_, place) => somePost({ ...(place % 2 === 0 && { author }), ...(place > 4 && { audience: viewers }) }))
    await store().putPosts([...posts, deletedPost(somePost({ author }))])
    await store().putWords(viewers.map((viewer, place) => ({ viewer, words: { words: place === 1 ? [] : ['w'], version: 5 } })))
    const ids = new Set(posts.map(({ id }) => id))
    for (const limit of [3, 200, 100_000]) {
      const found: Post[] = []
      for (let page: Post[] | undefined, last: string | undefined; page === undefined || page.length > 0; last = page.at(-1)?.id) {
        page = await store().listPosts(last, limit)
        expect(page.length).toBeLessThanOrEqual(limit)
        found.push(...page)
      }
      const byId = (some: readonly Post[]) => some.toSorted((a, b) => (BigInt(a.id) < BigInt(b.id) ? -1 : 1))
      expect(byId(found.filter(({ id }) => ids.has(id)))).toEqual(byId(posts))
      expect(found.every(({ deleted }) => !deleted)).toBe(true)
      expect(byId(await store().listPosts(undefined, 100, author))).toEqual(byId(posts.filter((post) => post.author === author)))
    }
    const words: WordsRow[] = []
    for (let page: WordsRow[] | undefined; page === undefined || page.length > 0; words.push(...page))
      page = await store().listWords(words.at(-1)?.viewer, 2)
    expect(
      words
        .filter(({ viewer }) => viewers.includes(viewer))
        .map(({ words: { words: list } }) => list.length)
        .toSorted((a, b) => a - b),
    ).toEqual([0, 1, 1])
  })

  it('a missing post is a miss in its place, and so are words that were never set', async () => {
    const post = somePost()
    await store().putPosts([post])
    const viewer = freshViewer()
    await store().putWords([{ viewer, words: { words: [], version: 7 } }])
    expect(await store().getPostMany([postIdOf(nextTick(), 0), post.id, '0'])).toEqual([undefined, post, undefined])
    expect(await store().getWordsMany([freshViewer(), viewer])).toEqual([undefined, { words: [], version: 7 }])
  })

  it('a newer version replaces a post, an older or equal one changes nothing', async () => {
    const viewer = freshViewer()
    const post = somePost({ audience: [viewer] })
    const later = { ...post, text: 'later', version: nextTick() }
    await store().putPosts([later])
    await store().putPosts([post])
    await store().putPosts([{ ...later, text: 'equal version', audience: [freshViewer()] }])
    expect(await store().getPostMany([post.id])).toEqual([later])
    const latest = { ...post, text: 'latest', version: nextTick() }
    await store().putPosts([latest])
    expect(await store().getPostMany([post.id])).toEqual([latest])
    expect(await inboxOf(viewer)).toEqual([post.id])
  })

  it('a tombstone removes a post from its outbox, in either order of arrival', async () => {
    const author = freshNamedViewer()
    const [kept, early, late] = [somePost({ author }), somePost({ author }), somePost({ author })]
    await store().putPosts([kept, early, deletedPost(late)])
    await store().putPosts([deletedPost(early), late])
    expect(await outboxOf(author)).toEqual([kept.id])
    expect(await store().getPostMany([early.id, late.id])).toMatchObject([{ deleted: true }, { deleted: true }])
  })

  it('a tombstone removes a restricted post from all inboxes, in either order of arrival', async () => {
    const viewers = [freshViewer(), freshNamedViewer(), freshViewer()]
    const author = freshViewer()
    const [kept, early, late] = [1, 2, 3].map(() => somePost({ author, audience: viewers })) as [
      ReturnType<typeof somePost>,
      ReturnType<typeof somePost>,
      ReturnType<typeof somePost>,
    ]
    await store().putPosts([kept, early, deletedPost(late)])
    await store().putPosts([late, deletedPost(early)])
    for (const viewer of viewers) expect(await inboxOf(viewer)).toEqual([kept.id])
    expect(await outboxOf(author)).toEqual([])
  })

  it('a post that becomes restricted leaves the outbox, and a smaller audience takes it from the others', async () => {
    const author = freshViewer()
    const [one, two, three] = [freshViewer(), freshViewer(), freshViewer()]
    const post = somePost({ author })
    await store().putPosts([post])
    await store().putPosts([{ ...post, audience: [one, two], version: nextTick() }])
    expect(await outboxOf(author)).toEqual([])
    await store().putPosts([{ ...post, audience: [two, three], version: nextTick() }])
    expect(await Promise.all([one, two, three].map(inboxOf))).toEqual([[], [post.id], [post.id]])
    await store().putPosts([{ ...post, version: nextTick() }])
    expect(await Promise.all([one, two, three].map(inboxOf))).toEqual([[], [], []])
    expect(await outboxOf(author)).toEqual([post.id])
  })

  it('an audience of a thousand viewers is stored and removed completely', async () => {
    const viewers = numbered(1_000).map((name) => `${freshViewer()}-${name}`)
    const post = somePost({ audience: viewers })
    const has = async () => (await store().listInboxMany(viewers, undefined, 10)).filter(({ ids }) => ids.length === 8).length
    await store().putPosts([post])
    expect(await has()).toBe(1_000)
    await store().putPosts([deletedPost(post)])
    expect(await has()).toBe(0)
  })

  it('newer words replace, older and equal ones change nothing', async () => {
    const [one, two] = [freshViewer(), freshNamedViewer()]
    const words = { words: ['Spoiler', 'Überraschung 🎁'], version: 10 }
    await store().putWords([
      { viewer: one, words },
      { viewer: two, words },
    ])
    await store().putWords([
      { viewer: one, words: { words: ['old'], version: 9 } },
      { viewer: two, words: { words: ['new'], version: 11 } },
    ])
    await store().putWords([{ viewer: one, words: { words: ['equal'], version: 10 } }])
    expect(await store().getWordsMany([two, one])).toEqual([{ words: ['new'], version: 11 }, words])
  })

  it('thousands of posts are stored by one call, and storing them again changes nothing', async () => {
    const authors = numbered(200).map(() => freshViewer())
    const posts = authors.flatMap((author) => numbered(10).map(() => somePost({ author })))
    const before = await store().countPosts()
    await store().putPosts(posts)
    await store().putPosts(posts.toReversed())
    expect(await store().countPosts()).toBe(before + 2_000)
    expect(await store().getPostMany(posts.map(({ id }) => id))).toEqual(posts)
    const parts = await store().listOutboxMany(authors, undefined, 100)
    expect(parts.map(({ ids }) => ids.length)).toEqual(authors.map(() => 80))
  })

  it('concurrent writers of live posts and their tombstones end with the tombstones and empty lists', async () => {
    const second = await another()
    try {
      const author = freshViewer()
      const viewers = [freshViewer(), freshViewer()]
      const posts = numbered(20).map((name) => somePost({ author, ...(Number(name) % 2 === 0 && { audience: viewers }) }))
      const deleted = posts.map((post) => deletedPost(post))
      await Promise.all([store().putPosts(posts), second.putPosts(deleted.toReversed()), store().putPosts(deleted), second.putPosts(posts)])
      expect(await store().getPostMany(posts.map(({ id }) => id))).toEqual(deleted)
      expect(await outboxOf(author)).toEqual([])
      expect(await Promise.all(viewers.map(inboxOf))).toEqual([[], []])
    } finally {
      await second.close()
    }
  })

  it('purging removes tombstones below the version only, at most as many as asked', async () => {
    const posts = numbered(5).map(() => somePost())
    const live = somePost()
    // Earlier than the tombstones of all other tests.
    const deleted = posts.map((post, place) => deletedPost(post, 100 + place))
    await store().putPosts([live, ...deleted])
    const before = await store().countPosts()
    expect(await store().purgeDeleted(100, 10)).toBe(0)
    expect(await store().purgeDeleted(104, 3)).toBe(3)
    expect(await store().purgeDeleted(104, 3)).toBe(1)
    expect(await store().purgeDeleted(104, 3)).toBe(0)
    const ids = [live, ...posts].map(({ id }) => id)
    expect(await store().getPostMany(ids)).toEqual([live, undefined, undefined, undefined, undefined, deleted[4]])
    expect(await store().countPosts()).toBe(before)
  })
}
