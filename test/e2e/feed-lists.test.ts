/** Follows, home feeds and counts from the view of a client: the real command, over HTTP. */
import { describe, expect, test } from 'vitest'
import { DELETE, FOLLOW, UNFOLLOW, WORDS, COUNT, HOME, USER_POSTS, newViewer, newKey, type Variables } from '../support/feed-client.ts'
import { useFeedService } from '../support/feed-service.ts'
import { followHomeFeed } from '../support/home-feed-events.ts'

const { urlOf, data, codesOf, published, follow, home, posts, follower } = useFeedService()

describe('following', () => {
  test('a followed user is in both lists and both counts at once, and leaves them with the follow', async () => {
    const [viewer, user] = [newViewer(), newViewer()]
    const id = await published(user, { text: 'a' })
    expect(await follow(viewer, [user])).toEqual([
      { outcome: 'CHANGED', user: { id: user, viewerFollows: true, followerCount: 1 }, userErrors: [] },
    ])
    expect(await home(viewer)).toEqual([id])
    const query = `query ($viewer: ID!, $user: ID!) {
      me: feedUser(id: $viewer) { followingCount following { edges { node { id } followedAt } } }
      them: feedUser(id: $user) { followerCount viewerFollows followers { edges { node { id } } } } }`
    const seen = await data(viewer, query, { viewer, user })
    expect(seen.me).toEqual({ followingCount: 1, following: { edges: [{ node: { id: user }, followedAt: expect.any(Number) }] } })
    expect(seen.them).toEqual({ followerCount: 1, viewerFollows: true, followers: { edges: [{ node: { id: viewer } }] } })
    expect((await data(viewer, UNFOLLOW, { ids: [user] })).unfollow.results).toMatchObject([
      { outcome: 'CHANGED', user: { viewerFollows: false, followerCount: 0 } },
    ])
    expect(await home(viewer)).toEqual([])
    const then = await data(viewer, query, { viewer, user })
    expect(then).toEqual({
      me: { followingCount: 0, following: { edges: [] } },
      them: { followerCount: 0, viewerFollows: false, followers: { edges: [] } },
    })
  })

  test('each user of a call has its own result', async () => {
    const viewer = newViewer()
    const results = await follow(viewer, ['a', 'a', viewer, '', 'b', 'c', 'd', 'e'])
    expect(
      results.map(({ outcome, userErrors }: { outcome: string; userErrors: { code: string }[] }) => userErrors[0]?.code ?? outcome),
    ).toEqual([...['CHANGED', 'UNCHANGED', 'FOLLOW_SELF', 'ID_INVALID', 'CHANGED', 'CHANGED', 'CHANGED', 'FOLLOWS_TOO_MANY']])
    expect(results[2].userErrors[0].path).toEqual(['input', 'ids', '2'])
    const many = Array.from({ length: 501 }, (_, at) => String(at))
    expect((await data(viewer, FOLLOW, { ids: many })).follow).toMatchObject({ results: [], userErrors: [{ code: 'INPUTS_TOO_MANY' }] })
  })

  test('a cursor of another list is refused', async () => {
    const author = newViewer()
    const viewer = await follower(author)
    await published(author, { text: 'a' })
    const after = (await data(viewer, HOME)).homeFeed.edges[0].cursor
    expect(await codesOf(newViewer(), HOME, { after })).toEqual(['CURSOR_INVALID'])
    expect(await codesOf(viewer, USER_POSTS, { id: author, after })).toEqual(['CURSOR_INVALID'])
    expect(await codesOf(viewer, HOME, { after: 'x' })).toEqual(['CURSOR_INVALID'])
    expect(await codesOf(viewer, HOME, { first: 101 })).toEqual(['FIRST_INVALID'])
    const query = 'query ($after: String) { feedUser { following(after: $after) { edges { cursor } } } }'
    expect(await codesOf(viewer, query, { after })).toEqual(['CURSOR_INVALID'])
  })
})

describe('pages', () => {
  test('pages of several authors are in the order of time, without gaps and repetitions', async () => {
    const authors = [newViewer(), newViewer(), newViewer()]
    const viewer = await follower(...authors)
    const ids: string[] = []
    for (let at = 0; at < 45; at++) ids.unshift(await published(authors[at % 3] as string, { text: `post ${at}` }))
    const read: string[] = []
    for (let after: string | undefined; ;) {
      const { edges, pageInfo } = (await data(viewer, HOME, { first: 10, after })).homeFeed
      read.push(...edges.map((edge: { node: { id: string } }) => edge.node.id))
      expect(pageInfo.hasPreviousPage).toBe(after !== undefined)
      after = pageInfo.endCursor
      // A post that is published between two pages moves nothing.
      await published(authors[0] as string, { text: 'new' })
      if (!pageInfo.hasNextPage) break
    }
    expect(read).toEqual(ids)
  })

  test('posts with a filter word are replaced by the next ones', async () => {
    const author = newViewer()
    const viewer = await follower(author)
    const kept: string[] = []
    for (let at = 0; at < 12; at++) {
      const id = await published(author, { text: at % 2 === 0 ? `about SPOILERS ${at}` : `about cats ${at}` })
      if (at % 2 === 1) kept.unshift(id)
    }
    const words = ['spoiler', 'spoiler', 'other']
    const set = (await data(viewer, WORDS, { words })).setFilterWords
    expect(set).toEqual({ filterWords: { id: `filter-words:${viewer}`, words: ['spoiler', 'other'] }, userErrors: [] })
    const { edges, pageInfo } = (await data(viewer, HOME, { first: 6 })).homeFeed
    expect(edges.map((edge: { node: { id: string } }) => edge.node.id)).toEqual(kept)
    expect(pageInfo.hasNextPage).toBe(false)
    expect((await data(viewer, '{ filterWords { words } }')).filterWords).toEqual({ words: ['spoiler', 'other'] })
    await data(viewer, WORDS, { words: [] })
    expect(await home(viewer)).toHaveLength(12)
  })

  test.each([
    ['101 words', Array.from({ length: 101 }, (_, at) => `w${at}`), ['input', 'words']],
    ['a word of blanks', ['a', '  '], ['input', 'words', '1']],
    ['a word over the limit', ['x'.repeat(51)], ['input', 'words', '0']],
    ['half a surrogate pair', ['\udc00'], ['input', 'words', '0']],
  ])('%s are no filter words', async (_, words, path) => {
    const viewer = newViewer()
    const { filterWords, userErrors } = (await data(viewer, WORDS, { words })).setFilterWords
    expect(filterWords).toBeNull()
    expect(userErrors).toMatchObject([{ code: 'FILTER_WORDS_INVALID', path }])
    expect((await data(viewer, '{ filterWords { words } }')).filterWords).toEqual({ words: [] })
  })
})

describe('counts', () => {
  const scoped = { 'x-viewer-scopes': 'counts:write' }
  const count = async (events: Variables[]) => (await data('service', COUNT, { events }, scoped)).adjustCounts
  const outcomesOf = ({ results }: { results: { outcome: string; userErrors: { code: string }[] }[] }) =>
    results.map(({ outcome, userErrors }) => userErrors[0]?.code ?? outcome)

  test('an event counts once, in each counter', async () => {
    const id = await published(newViewer(), { text: 'a' })
    const events = [
      { key: 'c1', id, counter: 'COMMENT', delta: 3 },
      { key: 'c1', id, counter: 'COMMENT', delta: 3 },
      { key: 'c1', id, counter: 'READ', delta: 7 },
      { key: 'c2', id, counter: 'COMMENT', delta: -1 },
    ]
    const answer = await count(events)
    expect(outcomesOf(answer)).toEqual(['COUNTED', 'REPEATED', 'COUNTED', 'COUNTED'])
    expect(answer.results[0].post).toEqual({ id, commentCount: 2, readCount: 7 })
    expect(outcomesOf(await count(events))).toEqual(['REPEATED', 'REPEATED', 'REPEATED', 'REPEATED'])
    expect(await posts(undefined, [id])).toMatchObject([{ commentCount: 2, readCount: 7 }])
  })

  test('each wrong event is refused alone', async () => {
    const id = await published(newViewer(), { text: 'a' })
    const event = { key: newKey(), id, counter: 'COMMENT', delta: 1 }
    const wrong = [
      { ...event, delta: 0 },
      { ...event, delta: 1_000_001 },
      { ...event, delta: -1_000_001 },
      { ...event, key: '' },
      { ...event, key: 'x'.repeat(65) },
      { ...event, id: '' },
      { ...event, id: '42' },
      { ...event, id: 'anna' },
      { ...event, delta: -1 },
      event,
    ]
    const answer = await count(wrong)
    expect(outcomesOf(answer)).toEqual([
      ...['DELTA_INVALID', 'DELTA_INVALID', 'DELTA_INVALID', 'KEY_INVALID', 'KEY_INVALID'],
      ...['ID_INVALID', 'POST_UNKNOWN', 'POST_UNKNOWN', 'DELTA_INVALID', 'COUNTED'],
    ])
    expect(answer.results[1].userErrors[0].path).toEqual(['input', 'events', '1', 'delta'])
    const advice = 'send the id that publishPost returned, or drop the event if the post is deleted'
    expect(answer.results[6].userErrors[0].message).toBe(`post "42" does not exist: ${advice}`)
    expect(await posts(undefined, [id])).toMatchObject([{ commentCount: 1 }])
    const many = Array.from({ length: 501 }, () => event)
    expect(await count(many)).toMatchObject({ results: [], userErrors: [{ code: 'INPUTS_TOO_MANY' }] })
  })

  test('a token without the scope cannot count', async () => {
    const id = await published(newViewer(), { text: 'a' })
    const events = [{ key: newKey(), id, counter: 'READ', delta: 1 }]
    expect(await codesOf('7', COUNT, { events })).toEqual(['UNAUTHORIZED_FIELD_OR_TYPE'])
    expect(await posts(undefined, [id])).toMatchObject([{ readCount: 0 }])
  })
})

describe('posts as subjects', () => {
  test('likes, marks and plays of a post stand beside its own fields, in one page', async () => {
    const author = newViewer()
    const viewer = await follower(author)
    const id = await published(author, { text: 'a' })
    await data(viewer, 'mutation ($id: ID!) { setMark(input: {business: "post", id: $id, mark: LIKE}) { outcome } }', { id })
    await data(viewer, 'mutation ($id: ID!) { recordIssued(input: {business: "post", ids: [$id]}) { recorded } }', { id })
    const query =
      '{ homeFeed { edges { node { id text likeCount viewerMark viewerSeen viewerProgress { position } author { id followerCount } } } } }'
    expect((await data(viewer, query)).homeFeed.edges).toEqual([
      {
        node: {
          id,
          text: 'a',
          likeCount: 1,
          viewerMark: 'LIKE',
          viewerSeen: 'ISSUED',
          viewerProgress: null,
          author: { id: author, followerCount: 1 },
        },
      },
    ])
    const { unseen } = await data(viewer, 'query ($ids: [ID!]!) { unseen(business: "post", candidates: $ids) { ids } }', {
      ids: [id, '42'],
    })
    expect(unseen.ids).toEqual(['42'])
  })

  test('follows are not among the marks of a business', async () => {
    const viewer = await follower('someone')
    expect(await codesOf(viewer, '{ thumbupUser { likes(business: "follow") { edges { cursor } } } }')).toEqual(['BUSINESS_UNKNOWN'])
    const mark = 'mutation { setMark(input: {business: "follow", id: "9", mark: LIKE}) { outcome userErrors { code } } }'
    expect((await data(viewer, mark)).setMark).toEqual({ outcome: 'REJECTED', userErrors: [{ code: 'BUSINESS_UNKNOWN' }] })
  })
})

describe('homeFeedChanged', () => {
  test('a subscriber receives the number of waiting posts', async () => {
    const author = newViewer()
    const viewer = await follower(author)
    const seen = await published(author, { text: 'seen' })
    const feed = await followHomeFeed(urlOf(), viewer, seen)
    try {
      const first = await published(author, { text: 'a' })
      expect(await feed.next()).toEqual({ waiting: 1, newest: first })
      const [second] = [await published(author, { text: 'b' })]
      await feed.until({ waiting: 2, newest: second })
      await data(author, DELETE, { id: second })
      await feed.until({ waiting: 1, newest: first })
    } finally {
      feed.end()
    }
  })

  test('a `since` that is not the id of a post is refused', async () => {
    const headers = { 'content-type': 'application/json', accept: 'text/event-stream', 'x-viewer-id': '7' }
    const query = 'subscription { homeFeedChanged(since: "anna") { waiting } }'
    const response = await fetch(urlOf(), { method: 'POST', headers, body: JSON.stringify({ query }) })
    expect(await response.text()).toContain('ID_INVALID')
  })
})
