/** Marks of posts that only chosen viewers may see, on embedded stores of both subgraphs. */
import { parse, subscribe } from 'graphql'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { systemClock } from '../../../../core/clock.ts'
import { TidemarkError } from '../../../../core/errors.ts'
import type { Degraded } from '../../../../core/outage/degraded.ts'
import { makePostAudience } from '../../../../subgraphs/feed/read/audience.ts'
import type { PostStores } from '../../../../subgraphs/feed/read/contents.ts'
import { openLmdbFeedStore } from '../../../../subgraphs/feed/stores/lmdb/hot-store.ts'
import { openLmdbFeedRecords } from '../../../../subgraphs/feed/stores/lmdb/record-store.ts'
import type { ThumbupJob } from '../../../../subgraphs/thumbup/persist/job.ts'
import { until } from '../../../../harness/until.ts'
import { draftOf, publishOne } from '../../../contracts/feed/posts.ts'
import {
  REGIONS,
  openMarkedStores,
  serveThumbup,
  thumbupConfig,
  viewerOf,
  type MarkedStores,
  type ServedThumbup,
} from '../marked-stores.ts'

const POSTS = { number: 5, name: 'post', entity: 'Post' }
const config = thumbupConfig({ businesses: [{ number: 1, name: 'video', entity: 'Video' }, POSTS] })
const [author, friend, stranger, other] = ['1', '2', '3', '4'].map((id) => viewerOf(id))
const SUBJECTS = `query ($ids: [ID!]!) { subjects(business: "post", ids: $ids) {
  likeCount dislikeCount viewerMark likers { edges { node { id } } pageInfo { hasNextPage hasPreviousPage } } } }`
const MARK = `mutation ($input: SetMarkInput!) { setMark(input: $input) {
  outcome mark subject { likeCount } userErrors { code message path } } }`

let stores: MarkedStores
let served: ServedThumbup
let job: ThumbupJob
let reads: number
let isDown: boolean
let secret: string
let unknown: string
let open: string

beforeEach(async () => {
  stores = openMarkedStores({ records: 'lmdb' })
  const [hot, records] = [openLmdbFeedStore(stores.environment), openLmdbFeedRecords(stores.environment)]
  ;[reads, isDown] = [0, false]
  const counted: PostStores = {
    hot: {
      getPostMany(ids) {
        reads += 1
        if (isDown) return Promise.reject(new TidemarkError('HOT_STORE_UNAVAILABLE', 'the hot store of the test is down'))
        return hot.getPostMany(ids)
      },
    },
    records,
  }
  served = serveThumbup(stores, config, { audience: makePostAudience(systemClock, counted, { business: POSTS.number, regions: REGIONS }) })
  job = await served.subgraph.startJob()
  secret = (await publishOne(hot, draftOf('1', { audience: ['2'] }))).id
  unknown = String(BigInt(secret) + (1n << 40n))
  open = (await publishOne(hot, draftOf('1'))).id
})
afterEach(async () => {
  await served.stop()
  await job.stop()
  await stores.close()
})

const mark = async (viewer: typeof author, id: string, given = 'LIKE', of?: string) =>
  (await served.ask(MARK, viewer, { input: { business: 'post', id, mark: given, viewer: of } })).data.setMark
const subjects = async (viewer: typeof author, ...ids: string[]) => (await served.ask(SUBJECTS, viewer, { ids })).data.subjects

test('others than the audience see a restricted post as one that nobody marked', async () => {
  expect(await mark(friend, secret)).toMatchObject({ outcome: 'ACCEPTED', subject: { likeCount: 1 } })
  expect(await mark(author, secret, 'DISLIKE')).toMatchObject({ outcome: 'ACCEPTED' })
  await mark(friend, open)
  await until('the marks are counted', async () => (await subjects(friend, secret))[0].dislikeCount === 1)
  await until('the public one too', async () => (await subjects(stranger, open))[0].likeCount === 1)
  expect(await subjects(friend, secret)).toMatchObject([
    { likeCount: 1, dislikeCount: 1, viewerMark: 'LIKE', likers: { edges: [{ node: { id: '2' } }] } },
  ])
  const [hidden, never, shown] = await subjects(stranger, secret, unknown, open)
  expect(hidden).toEqual(never)
  expect(hidden).toMatchObject({ likeCount: 0, dislikeCount: 0, viewerMark: 'NONE', likers: { edges: [] } })
  expect(shown).toMatchObject({ likeCount: 1 })
  const entities = `query ($r: [_Any!]!) { _entities(representations: $r) { ... on Post { likeCount dislikeCount } } }`
  const r = [secret, unknown].map((id) => ({ __typename: 'Post', id }))
  const nothing = { likeCount: 0, dislikeCount: 0 }
  expect((await served.ask(entities, undefined, { r })).data._entities).toEqual([nothing, nothing])
  expect((await served.ask(entities, friend, { r })).data._entities).toEqual([{ likeCount: 1, dislikeCount: 1 }, nothing])
})

test('the audiences of all subjects of a request are one read, and a request with public posts makes none', async () => {
  await subjects(stranger, open)
  expect(reads).toBe(0)
  await subjects(stranger, secret, unknown, open, String(BigInt(unknown) + (1n << 40n)))
  expect(reads).toBe(1)
})

test('a mark of a stranger is refused as one of an unknown post, alone, in a batch and by a service', async () => {
  const refused = { outcome: 'REJECTED', subject: null, mark: null }
  for (const id of [secret, unknown])
    for (const given of ['LIKE', 'DISLIKE'])
      expect(await mark(stranger, id, given)).toMatchObject({ ...refused, userErrors: [{ code: 'POST_UNKNOWN', path: ['input', 'id'] }] })
  const service = viewerOf('9', 'marks:write-any')
  expect(await mark(service, secret, 'LIKE', '3')).toMatchObject(refused)
  expect(await mark(service, secret, 'LIKE', '2')).toMatchObject({ outcome: 'ACCEPTED', subject: { likeCount: 0 } })
  const batch = `mutation ($marks: [SetMarkInput!]!) { setMarkBatch(input: { marks: $marks }) { results { outcome userErrors { code path } } } }`
  const marks = [open, secret].map((id) => ({ business: 'post', id, mark: 'LIKE' }))
  expect((await served.ask(batch, other, { marks })).data.setMarkBatch.results).toEqual([
    { outcome: 'ACCEPTED', userErrors: [] },
    { outcome: 'REJECTED', userErrors: [{ code: 'POST_UNKNOWN', path: ['input', 'marks', '1', 'id'] }] },
  ])
  const likes = `{ thumbupUser { likes(business: "post") { edges { node { id } } } } }`
  expect((await served.ask(likes, other)).data.thumbupUser.likes.edges).toEqual([{ node: { id: open } }])
})

test('an undo is never refused, and changes nothing for others', async () => {
  await mark(friend, secret)
  expect(await mark(stranger, secret, 'NONE')).toMatchObject({ mark: 'NONE', subject: { likeCount: 0 } })
  expect(await subjects(friend, secret)).toMatchObject([{ likeCount: 1 }])
})

test('the likes of a viewer leave out restricted posts for other readers, and fill their pages', async () => {
  for (const id of [open, secret]) await mark(friend, id)
  const likes = `{ thumbupUser(id: "2") { likes(business: "post", first: 1) { edges { node { id } } pageInfo { hasNextPage } } } }`
  const page = (hasNextPage: boolean, id: string) => ({ edges: [{ node: { id } }], pageInfo: { hasNextPage } })
  expect((await served.ask(likes, friend)).data.thumbupUser.likes).toEqual(page(true, secret))
  expect((await served.ask(likes, viewerOf('9', 'marks:read-any'))).data.thumbupUser.likes).toEqual(page(false, open))
  expect((await served.ask(likes, viewerOf('1', 'marks:read-any'))).data.thumbupUser.likes).toEqual(page(true, secret))
})

test('a restricted post is registered for no public sum', async () => {
  const query = `mutation ($subjects: [RegisterSubjectInput!]!) { registerSubjects(input: { business: "post", subjects: $subjects }) {
    results { registered userErrors { code path } } } }`
  const { data } = await served.ask(query, viewerOf('9', 'subjects:register'), {
    subjects: [open, secret].map((id) => ({ id, owner: '1' })),
  })
  expect(data.registerSubjects.results).toEqual([
    { registered: true, userErrors: [] },
    { registered: false, userErrors: [{ code: 'POST_UNKNOWN', path: ['input', 'subjects', '1', 'id'] }] },
  ])
})

test('a subscription tells changes of a restricted post to its audience alone', async () => {
  const openStream = async (viewer: typeof author | undefined) =>
    (await subscribe({
      schema: served.subgraph.schema,
      document: parse(`subscription ($ids: [ID!]!) { countsChanged(business: "post", ids: $ids) { subjects { id likeCount } } }`),
      variableValues: { ids: [secret, open] },
      contextValue: { viewer, degraded: new Set(), loaders: served.subgraph.makeLoaders(new Set(), true) },
    })) as AsyncIterableIterator<any>
  const streams = await Promise.all([author, stranger, undefined].map(openStream))
  /** What each stream tells until it has the public post. */
  const told = streams.map(async (stream) => {
    const ids = new Set<string>()
    for await (const { data } of stream) {
      for (const { id } of data.countsChanged.subjects) ids.add(id)
      if (ids.has(open)) return ids
    }
    return ids
  })
  await mark(friend, secret)
  await until('the like is counted', async () => (await subjects(author, secret))[0].likeCount === 1)
  await mark(friend, open)
  expect(await Promise.all(told)).toEqual([new Set([secret, open]), new Set([open]), new Set([open])])
})

test('while the audience cannot be read, marks are hidden and new ones refused, and the answers name the store', async () => {
  await mark(other, open)
  await until('the like is counted', async () => (await subjects(friend, open))[0].likeCount === 1)
  isDown = true
  for (const viewer of [friend, stranger]) {
    const { data, degraded } = await served.ask(SUBJECTS, viewer, { ids: [secret, open] })
    expect(data.subjects).toMatchObject([{ likeCount: null, dislikeCount: null, viewerMark: 'NONE', likers: null }, { likeCount: 1 }])
    expect(degraded).toEqual(['hotStore'])
    const refused = await served.ask(MARK, viewer, { input: { business: 'post', id: secret, mark: 'LIKE' } })
    expect(refused.errors).toMatchObject([{ code: 'HOT_STORE_UNAVAILABLE' }])
  }
  const degraded: Degraded = new Set()
  const inputs = [open, secret].map((id) => ({ business: 'post', id, mark: 'LIKE' }))
  const answers = await served.subgraph.service.mark(viewerOf('2'), inputs, degraded)
  expect(answers).toMatchObject([{ outcome: 'ACCEPTED' }, { outcome: 'REJECTED', code: 'HOT_STORE_UNAVAILABLE' }])
  expect([...degraded]).toEqual(['hotStore'])
})
