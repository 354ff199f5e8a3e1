/** The recount of posts, on embedded stores. */
import { afterEach, beforeEach, expect, it } from 'vitest'
import { openEnvironment, type Environment } from '../../../../stores/lmdb/environment.ts'
import { recountPosts } from '../../../../subgraphs/feed/counters/recount.ts'
import { USERS } from '../../../../subgraphs/feed/model/post-events.ts'
import { openLmdbCounterRecords } from '../../../../subgraphs/feed/stores/lmdb/counters/counter-records.ts'
import { openLmdbFeedRecords } from '../../../../subgraphs/feed/stores/lmdb/record-store.ts'
import { COUNTER_REGIONS } from '../../../contracts/feed/counter-samples.ts'
import { deletedPost, somePost } from '../../../contracts/feed/record-posts.ts'
import { makeFolder } from '../../../stores/lmdb/folders.ts'

const BUSINESS = 4
const START = Date.now()
const BEFORE = (START - 3_600_000) * 1_024
let folder: ReturnType<typeof makeFolder>
let environment: Environment
const stores = () => ({ posts: openLmdbFeedRecords(environment), counters: openLmdbCounterRecords(environment) })
const noChange = () => Promise.resolve()

beforeEach(() => {
  folder = makeFolder()
  environment = openEnvironment(folder.path, { regions: COUNTER_REGIONS, sizeMaxGb: 1 })
})
afterEach(async () => {
  await environment.close()
  folder.remove()
})

/** Two public posts of an author, one of which shares a post. Restricted and deleted posts do not count. */
async function persisted() {
  const { posts } = stores()
  const source = somePost()
  const first = somePost({ author: '7' })
  const repost = somePost({ author: '7', source: source.id })
  const gone = somePost({ author: '7', source: source.id })
  await posts.putPosts([source, first, repost, gone, somePost({ author: '7', audience: ['9'] })])
  await posts.putPosts([deletedPost(gone)])
  const user = (oid: string) => ({ business: USERS, oid })
  return { author: user('7'), other: user(source.author), shared: { business: BUSINESS, oid: source.id } }
}

it('names each user and post whose count differs from the posts, also without a total, and no other', async () => {
  const { author, other, shared } = await persisted()
  const unrelated = { business: BUSINESS, oid: 'unrelated' }
  await stores().counters.putTotals([
    { subject: author, counts: {}, version: BEFORE },
    { subject: other, counts: { post: 1 }, version: BEFORE },
    { subject: unrelated, counts: { comment: 3 }, version: BEFORE },
  ])
  expect(await recountPosts(stores(), BUSINESS, START, noChange)).toEqual({
    subjects: 4,
    drift: [
      { subject: author, counter: 'post', counted: 0, stored: 2, version: BEFORE },
      { subject: shared, counter: 'repost', counted: 0, stored: 1, version: 0 },
    ],
  })
})

it('a total that changed since the start, or changes while it settles, is not a difference', async () => {
  const { author, other, shared } = await persisted()
  const { counters } = stores()
  await counters.putTotals([
    { subject: author, counts: { post: 1 }, version: START * 1_024 },
    { subject: other, counts: {}, version: BEFORE },
  ])
  const settle = () =>
    counters.putTotals([
      { subject: other, counts: { post: 1 }, version: BEFORE + 1 },
      { subject: shared, counts: { repost: 1 }, version: BEFORE },
    ])
  expect(await recountPosts(stores(), BUSINESS, START, settle)).toEqual({ subjects: 3, drift: [] })
})
