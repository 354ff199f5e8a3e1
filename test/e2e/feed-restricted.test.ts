/**
 * The marks of a restricted post, as its author, a chosen viewer, a stranger and an anonymous caller get them: by each field of the API that
 * takes or returns a subject. First from a gateway, then from the subgraph of likes alone, on the same data.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ask, makeServiceFolder, startService, type Service } from '../../harness/deployment/service.ts'
import { until } from '../../harness/until.ts'
import { makeFeedClient, newViewer } from '../support/feed-client.ts'

const { folder, remove } = makeServiceFolder()
const settings = {
  feed: { flushAgeMaxMs: 100, sweepAfterMs: 1_000, sweepEveryMs: 200, countsWindowMs: 50 },
  thumbup: { flushAgeMaxMs: 50, windowMs: 50, sweepAfterMs: 1_000, sweepEveryMs: 200, countsWindowMs: 50, hotTtlMs: 0 },
}
let service: Service
beforeAll(async () => {
  service = await startService({ folder, settings })
})
afterAll(async () => {
  expect(await service.stop()).toBe(0)
  remove()
})

const { data, published, follower, home } = makeFeedClient(() => service.url)
const [author, friend] = [newViewer(), newViewer()]
const MARKS = 'likeCount dislikeCount viewerMark likers { edges { node { id } } pageInfo { hasNextPage } }'
const ALL = `{ __typename id ... on Post { ${MARKS} } }`
const MARK = `mutation ($id: ID!, $mark: Mark!) { setMark(input: { business: "post", id: $id, mark: $mark }) {
  outcome mark subject { id likeCount dislikeCount } userErrors { code path } } }`
const setMark = async (viewer: string, id: string, mark = 'LIKE') => (await data(viewer, MARK, { id, mark })).setMark
const COUNTED = { likeCount: 1, dislikeCount: 1 }
const UNMARKED = { likeCount: 0, dislikeCount: 0 }

let stranger: string
let secret: string
/** The id of no post, and one that only chosen viewers could see. */
let never: string

describe('in a gateway', () => {
  beforeAll(async () => {
    stranger = await follower(author)
    secret = await published(author, { text: 'secret', audience: [friend] })
    never = String(BigInt(secret) + (1n << 40n))
    expect(await setMark(friend, secret)).toMatchObject({ outcome: 'ACCEPTED', subject: { id: secret, likeCount: 1 } })
    expect(await setMark(author, secret, 'DISLIKE')).toMatchObject({ outcome: 'ACCEPTED' })
    const counts = `query ($ids: [ID!]!) { subjects(business: "post", ids: $ids) { likeCount dislikeCount } }`
    for (const viewer of [author, friend])
      await until('both marks are counted', async () => {
        const [subject] = (await data(viewer, counts, { ids: [secret] })).subjects
        return subject.likeCount === 1 && subject.dislikeCount === 1
      })
  })

  test('the author and the audience see its marks wherever they see the post', async () => {
    expect(await home(friend)).toEqual([secret])
    const feed = (await data(friend, `{ homeFeed { edges { node ${ALL} } } }`)).homeFeed.edges
    expect(feed).toMatchObject([{ node: { ...COUNTED, viewerMark: 'LIKE', likers: { edges: [{ node: { id: friend } }] } } }])
    for (const viewer of [author, friend])
      expect((await data(viewer, `query ($ids: [ID!]!) { posts(ids: $ids) { likeCount dislikeCount } }`, { ids: [secret] })).posts).toEqual(
        [COUNTED],
      )
  })

  test('subjects answer others as if nobody had marked it, as an id that was never published', async () => {
    const query = `query ($ids: [ID!]!) { subjects(business: "post", ids: $ids) ${ALL} }`
    const [hidden, unknown] = (await data(stranger, query, { ids: [secret, never] })).subjects
    expect({ ...hidden, id: never }).toEqual(unknown)
    expect(hidden).toMatchObject({ ...UNMARKED, viewerMark: 'NONE', likers: { edges: [], pageInfo: { hasNextPage: false } } })
    const anonymous = `query ($ids: [ID!]!) { subjects(business: "post", ids: $ids) { ... on Post { likeCount dislikeCount } } }`
    expect((await data(undefined, anonymous, { ids: [secret, never] })).subjects).toEqual([UNMARKED, UNMARKED])
  })

  test('a mark of a stranger is refused as one of an unknown post, and is in no list', async () => {
    const refused = { outcome: 'REJECTED', mark: null, subject: null, userErrors: [{ code: 'POST_UNKNOWN', path: ['input', 'id'] }] }
    for (const id of [secret, never]) for (const mark of ['LIKE', 'DISLIKE']) expect(await setMark(stranger, id, mark)).toEqual(refused)
    expect(await setMark(stranger, secret, 'NONE')).toMatchObject({ mark: 'NONE', subject: UNMARKED })
    const likes = `{ thumbupUser { likes(business: "post") { edges { node { id } } } } }`
    expect((await data(stranger, likes)).thumbupUser.likes.edges).toEqual([])
    expect((await data(friend, likes)).thumbupUser.likes.edges).toEqual([{ node: { id: secret } }])
    const counts = `query ($ids: [ID!]!) { posts(ids: $ids) { likeCount dislikeCount } }`
    expect((await data(author, counts, { ids: [secret] })).posts).toEqual([COUNTED])
  })

  test('other readers do not find it in the likes of a viewer', async () => {
    const likes = `query ($id: ID!) { thumbupUser(id: $id) { likes(business: "post") { edges { node { id } } pageInfo { hasNextPage } } } }`
    const reader = { 'x-viewer-scopes': 'marks:read-any' }
    const page = (await data(stranger, likes, { id: friend }, reader)).thumbupUser.likes
    expect(page).toEqual({ edges: [], pageInfo: { hasNextPage: false } })
    expect((await data(author, likes, { id: friend }, reader)).thumbupUser.likes.edges).toEqual([{ node: { id: secret } }])
  })

  test('it is in no public sum of its author', async () => {
    const register = `mutation ($id: ID!, $owner: ID!) { registerSubjects(input: { business: "post", subjects: [{ id: $id, owner: $owner }] }) {
      results { registered userErrors { code } } } }`
    const { registerSubjects } = await data('service', register, { id: secret, owner: author }, { 'x-viewer-scopes': 'subjects:register' })
    expect(registerSubjects.results).toEqual([{ registered: false, userErrors: [{ code: 'POST_UNKNOWN' }] }])
    const sum = `query ($id: ID!) { thumbupUser(id: $id) { likesReceived(business: "post") } }`
    expect((await data(stranger, sum, { id: author })).thumbupUser.likesReceived).toBe(0)
  })

  test('lists of history and of feed existence that have it show no marks to a stranger', async () => {
    const report = `mutation ($id: ID!) { reportProgress(input: { business: "post", id: $id, position: 1 }) { subject ${ALL} } }`
    const played = `mutation ($id: ID!) { recordPlayed(input: { business: "post", ids: [$id] }) { subjects ${ALL} } }`
    const unseen = `query ($id: ID!) { unseen(business: "post", candidates: [$id]) { subjects ${ALL} } }`
    const seen = `{ viewerHistory(businesses: ["post"]) { edges { node ${ALL} } } }`
    for (const [viewer, counts] of [
      [stranger, UNMARKED],
      [friend, COUNTED],
    ] as const) {
      expect((await data(viewer, unseen, { id: secret })).unseen.subjects).toMatchObject([counts])
      expect((await data(viewer, report, { id: secret })).reportProgress.subject).toMatchObject(counts)
      expect((await data(viewer, seen)).viewerHistory.edges).toMatchObject([{ node: counts }])
      expect((await data(viewer, played, { id: secret })).recordPlayed.subjects).toMatchObject([counts])
    }
  })

  test('a subscription sends its changes to the audience alone', async () => {
    const id = await published(author, { text: 'another', audience: [friend] })
    const open = await published(author, { text: 'open' })
    const streams = [author, stranger].map((viewer) => followCounts(viewer, [id, open]))
    await Promise.all(streams.map(({ isOpen }) => isOpen))
    await setMark(friend, id)
    await until('the like is counted', async () => {
      const [post] = (await data(author, `query ($ids: [ID!]!) { posts(ids: $ids) { likeCount } }`, { ids: [id] })).posts
      return post.likeCount === 1
    })
    await setMark(friend, open)
    expect(await Promise.all(streams.map(({ until: told }) => told(open)))).toEqual([[id, open].toSorted(), [open]])
  })
})

describe('in the subgraph of likes alone', () => {
  beforeAll(async () => {
    expect(await service.stop()).toBe(0)
    service = await startService({ folder, settings, command: ['subgraph', 'thumbup'] })
  })

  test('entities and subjects show its marks to the audience alone, and marks of strangers are refused', async () => {
    const entities = `query ($r: [_Any!]!) { _entities(representations: $r) { ... on Post { ${MARKS} } } }`
    const r = [secret, never].map((id) => ({ __typename: 'Post', id }))
    const nobody = { ...UNMARKED, likers: { edges: [] } }
    expect((await data(stranger, entities, { r }))._entities).toMatchObject([nobody, nobody])
    expect((await data(friend, entities, { r }))._entities).toMatchObject([{ ...COUNTED, viewerMark: 'LIKE' }, nobody])
    const subjects = `query ($ids: [ID!]!) { subjects(business: "post", ids: $ids) { likeCount dislikeCount } }`
    for (const [viewer, counts] of [
      [undefined, UNMARKED],
      [stranger, UNMARKED],
      [author, COUNTED],
    ] as const)
      expect((await data(viewer, subjects, { ids: [secret, never] })).subjects).toEqual([counts, UNMARKED])
    expect(await setMark(stranger, secret)).toMatchObject({ outcome: 'REJECTED', userErrors: [{ code: 'POST_UNKNOWN' }] })
    expect((await ask(service.url, friend, MARK, { id: secret, mark: 'LIKE' })).data.setMark.subject).toMatchObject(COUNTED)
  })
})

/** A subscription to the counts of these posts. `until` waits for an event of this post, and resolves with the ids of all events, in order. */
function followCounts(viewer: string, ids: string[]) {
  const query = 'subscription ($ids: [ID!]!) { countsChanged(business: "post", ids: $ids) { subjects { id likeCount } } }'
  const opening = fetch(service.url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'text/event-stream', 'x-viewer-id': viewer },
    body: JSON.stringify({ query, variables: { ids } }),
  })
  return {
    isOpen: opening,
    async until(last: string): Promise<string[]> {
      let text = ''
      const decoder = new TextDecoder()
      for await (const chunk of (await opening).body as ReadableStream<Uint8Array>) {
        text += decoder.decode(chunk, { stream: true })
        if (text.includes(`"${last}"`)) break
      }
      return ids.filter((id) => text.includes(`"${id}"`)).toSorted()
    },
  }
}
