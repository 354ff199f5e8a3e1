/** Contract of the record store of the feed: any sequence of calls ends as in the model. */
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { makeFeedRecordsState, openModelFeedRecords } from '../../../harness/models/feed/record-store-model.ts'
import type { Post } from '../../../subgraphs/feed/model/post.ts'
import { freshNamedViewer, freshViewer } from '../reports.ts'
import { nextTick, somePost } from './record-posts.ts'
import type { FeedRecords } from '../../../subgraphs/feed/stores/record-store.ts'
import type { FeedRecordsSubject } from './record-store-subject.ts'

const PEOPLE = 4
const POSTS = 6

const change = fc.record({
  post: fc.nat({ max: POSTS - 1 }),
  version: fc.integer({ min: 1, max: 12 }),
  deleted: fc.boolean(),
  audience: fc.option(fc.uniqueArray(fc.nat({ max: PEOPLE - 1 }), { minLength: 1, maxLength: PEOPLE }), { nil: undefined }),
})
const call = fc.oneof(
  { weight: 6, arbitrary: fc.uniqueArray(change, { selector: ({ post }) => post, maxLength: POSTS }) },
  { weight: 2, arbitrary: fc.record({ viewer: fc.nat({ max: PEOPLE - 1 }), version: fc.integer({ min: 1, max: 9 }) }) },
)

export function feedSequencesContract({ store }: FeedRecordsSubject): void {
  it('any order and repetition of versions ends with the posts, lists, words and counts of the model', { timeout: 120_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(call, { maxLength: 12 }), fc.integer({ min: 1, max: 4 }), async (calls, limit) => {
        const people = Array.from({ length: PEOPLE }, (_, place) => (place % 2 === 0 ? freshViewer() : freshNamedViewer()))
        const posts = Array.from({ length: POSTS }, (_, place) => somePost({ author: people[place % 2] as string }))
        const base = nextTick()
        const model = openModelFeedRecords(makeFeedRecordsState())
        const before = await store().countPosts()
        for (const one of calls) {
          if (Array.isArray(one)) {
            const changed = one.map(({ post, version, deleted, audience }): Post => {
              const text = deleted ? '' : `version ${version}`
              // One version has one content.
              const own = version % 3 === 0 ? undefined : audience?.map((place) => people[place] as string)
              return { ...(posts[post] as Post), text, audience: own, deleted, version: base + version * POSTS + post }
            })
            await store().putPosts(changed)
            await model.putPosts(changed)
          } else {
            const row = { viewer: people[one.viewer] as string, words: { words: [`word ${one.version}`], version: one.version } }
            await store().putWords([row])
            await model.putWords([row])
          }
        }
        const ids = posts.map(({ id }) => id)
        expect(await store().getPostMany(ids)).toEqual(await model.getPostMany(ids))
        expect(await store().getWordsMany(people)).toEqual(await model.getWordsMany(people))
        expect((await store().countPosts()) - before).toBe(await model.countPosts())
        for (const author of people) expect(byId(await allPostsOf(store(), author))).toEqual(byId(await allPostsOf(model, author)))
        for (const place of [undefined, ids[4], ids[1]]) {
          expect(await store().listOutboxMany(people, place, limit)).toEqual(await model.listOutboxMany(people, place, limit))
          expect(await store().listInboxMany(people, place, limit)).toEqual(await model.listInboxMany(people, place, limit))
        }
      }),
      { numRuns: 100 },
    )
  })
}

/** In pages of four. */
async function allPostsOf(store: FeedRecords, author: string): Promise<Post[]> {
  const all: Post[] = []
  for (let page: Post[] | undefined; page === undefined || page.length > 0; all.push(...page))
    page = await store.listPosts(all.at(-1)?.id, 4, author)
  return all
}

function byId(posts: readonly Post[]): Post[] {
  return posts.toSorted((a, b) => (BigInt(a.id) < BigInt(b.id) ? -1 : 1))
}
