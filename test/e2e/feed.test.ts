/** Posts from the view of a client: the real command, over HTTP. */
import { describe, expect, test } from 'vitest'
import { DELETE, PUBLISH, USER_POSTS, POST, newViewer, newKey } from '../support/feed-client.ts'
import { useFeedService } from '../support/feed-service.ts'

const { data, codesOf, publish, published, refusal, home, posts, follower } = useFeedService()

describe('publishing', () => {
  test('a post is in the home feed of a follower at once, and in the posts of its author', async () => {
    const author = newViewer()
    const viewer = await follower(author)
    const before = Date.now()
    const { post, repeated, userErrors } = await publish(author, { text: 'hello', media: ['https://img.example/1.png'] })
    expect([repeated, userErrors]).toEqual([false, []])
    expect(post).toMatchObject({ __typename: 'Post', business: 'post', author: { id: author }, text: 'hello', restricted: false })
    expect(post).toMatchObject({ media: ['https://img.example/1.png'], source: null, sourceState: null, repostCount: 0, commentCount: 0 })
    expect(post.createdAt).toBeGreaterThanOrEqual(before - 1)
    expect(post.createdAt).toBeLessThanOrEqual(Date.now() + 1)
    expect(await home(viewer)).toEqual([post.id])
    expect(await posts(undefined, [post.id])).toEqual([post])
    expect((await data(viewer, USER_POSTS, { id: author })).feedUser.posts.edges).toMatchObject([{ node: { id: post.id } }])
  })

  test('a repetition returns the first post, and other contents are refused', async () => {
    const author = newViewer()
    const clientKey = newKey()
    const first = await publish(author, { clientKey, text: 'once' })
    expect(await publish(author, { clientKey, text: 'once' })).toEqual({ ...first, repeated: true })
    expect(await refusal(author, { clientKey, text: 'twice' })).toEqual([['CLIENT_KEY_REUSED', 'input.clientKey']])
    // Another author may have the same key.
    expect((await publish(newViewer(), { clientKey, text: 'twice' })).repeated).toBe(false)
  })

  test.each([
    ['a text over the limit', { text: 'x'.repeat(2_001) }, 'TEXT_INVALID', 'text'],
    ['a text with half a surrogate pair', { text: 'a\ud800' }, 'TEXT_INVALID', 'text'],
    ['nothing at all', { text: ' \n' }, 'TEXT_INVALID', 'text'],
    ['ten media', { media: Array.from({ length: 10 }, () => 'https://a.example/b') }, 'MEDIA_INVALID', 'media'],
    ['an address without https', { media: ['https://a.example/b', 'http://a.example/b'] }, 'MEDIA_INVALID', 'media.1'],
    ['an address over the limit', { media: [`https://a.example/${'x'.repeat(500)}`] }, 'MEDIA_INVALID', 'media.0'],
    ['an empty audience', { text: 'a', audience: [] }, 'AUDIENCE_INVALID', 'audience'],
    [
      'an audience over the limit',
      { text: 'a', audience: Array.from({ length: 1_001 }, (_, at) => `${at}`) },
      'AUDIENCE_INVALID',
      'audience',
    ],
    ['an id of the audience that is too long', { text: 'a', audience: ['1', 'x'.repeat(65)] }, 'ID_INVALID', 'audience.1'],
    ['an empty key', { text: 'a', clientKey: '' }, 'KEY_INVALID', 'clientKey'],
    ['a key over the limit', { text: 'a', clientKey: 'é'.repeat(33) }, 'KEY_INVALID', 'clientKey'],
    ['a source that is no id', { text: 'a', source: 'x'.repeat(65) }, 'ID_INVALID', 'source'],
    ['a source that does not exist', { text: 'a', source: '42' }, 'POST_UNKNOWN', 'source'],
  ])('%s is refused, and nothing is published', async (_, input, code, path) => {
    const author = newViewer()
    expect(await refusal(author, input)).toEqual([[code, `input.${path}`]])
    expect((await data(author, USER_POSTS, { id: author })).feedUser.posts.edges).toEqual([])
  })

  test('2,000 characters of two units each are not too long', async () => {
    const text = '😀'.repeat(2_000)
    expect((await publish(newViewer(), { text })).post.text).toBe(text)
  })

  test('an anonymous caller cannot publish', async () => {
    expect(await codesOf(undefined, PUBLISH, { input: { clientKey: newKey(), text: 'a' } })).toEqual(['UNAUTHENTICATED'])
  })
})

describe('restricted posts', () => {
  test('only the author and the audience see a restricted post, in any list and lookup', async () => {
    const [author, friend] = [newViewer(), newViewer()]
    const stranger = await follower(author)
    const id = await published(author, { text: 'secret', audience: [friend, author] })
    expect(await home(friend)).toEqual([id])
    expect(await home(stranger)).toEqual([])
    expect(await posts(friend, [id])).toMatchObject([{ id, text: 'secret', restricted: true }])
    expect(await posts(author, [id])).toMatchObject([{ id, text: 'secret' }])
    expect(await posts(stranger, [id])).toEqual([null])
    expect(await posts(undefined, [id])).toEqual([null])
    for (const viewer of [author, friend, stranger])
      expect((await data(viewer, USER_POSTS, { id: author })).feedUser.posts.edges).toEqual([])
  })

  test('an entity that another subgraph found shows nothing of a restricted post', async () => {
    const [author, friend] = [newViewer(), newViewer()]
    const id = await published(author, { text: 'secret', audience: [friend] })
    const query = `query ($ids: [ID!]!) { subjects(business: "post", ids: $ids) { ... on Post ${POST} } }`
    const fields = { author: null, text: null, media: null, createdAt: null, restricted: null, source: null, sourceState: null }
    const hidden = { __typename: 'Post', id, business: 'post', ...fields, repostCount: null, commentCount: null, readCount: null }
    expect((await data(newViewer(), query, { ids: [id] })).subjects).toEqual([hidden])
    expect((await data(friend, query, { ids: [id] })).subjects).toMatchObject([{ text: 'secret', author: { id: author } }])
    // A report of progress brings the post into a list of the subgraph of history.
    const stranger = newViewer()
    const report = `mutation ($id: ID!) { reportProgress(input: {business: "post", id: $id, position: 1}) { outcome } }`
    expect((await data(stranger, report, { id })).reportProgress.outcome).toBe('ACCEPTED')
    const seen = `{ viewerHistory(businesses: ["post"]) { edges { node { ... on Post ${POST} } } } }`
    expect((await data(stranger, seen)).viewerHistory.edges).toEqual([{ node: hidden }])
  })

  test('the posts of an author do not count restricted ones', async () => {
    const [author, friend] = [newViewer(), newViewer()]
    await published(author, { text: 'a' })
    await published(author, { text: 'b', audience: [friend] })
    expect((await data(friend, 'query ($id: ID!) { feedUser(id: $id) { postCount } }', { id: author })).feedUser.postCount).toBe(1)
  })

  test('a restricted post cannot be shared, and a stranger does not learn that it exists', async () => {
    const [author, friend] = [newViewer(), newViewer()]
    const id = await published(author, { text: 'secret', audience: [friend] })
    expect(await refusal(friend, { source: id })).toEqual([['SOURCE_RESTRICTED', 'input.source']])
    expect(await refusal(newViewer(), { source: id })).toEqual([['POST_UNKNOWN', 'input.source']])
  })

  test('a restricted share is not counted for its source', async () => {
    const [author, friend] = [newViewer(), newViewer()]
    const source = await published(author, { text: 'public' })
    await published(friend, { source, audience: [author] })
    expect(await posts(undefined, [source])).toMatchObject([{ repostCount: 0 }])
    await published(friend, { source })
    expect(await posts(undefined, [source])).toMatchObject([{ repostCount: 1 }])
  })
})

describe('deleting', () => {
  test('a deleted post disappears from all lists at once, and its share says so', async () => {
    const [author, sharer] = [newViewer(), newViewer()]
    const viewer = await follower(author, sharer)
    const id = await published(author, { text: 'gone soon' })
    const share = await published(sharer, { source: id, text: 'look' })
    expect(await posts(viewer, [share])).toMatchObject([{ source: { id, text: 'gone soon' }, sourceState: 'SHOWN' }])
    const { post, author: user, userErrors } = (await data(author, DELETE, { id })).deletePost
    expect([post.id, post.text, user, userErrors]).toEqual([id, null, { id: author, postCount: 0 }, []])
    expect(await home(viewer)).toEqual([share])
    expect(await posts(viewer, [id, share])).toMatchObject([null, { source: null, sourceState: 'DELETED', text: 'look' }])
    expect((await data(viewer, USER_POSTS, { id: author })).feedUser.posts.edges).toEqual([])
    expect(await refusal(viewer, { source: id })).toEqual([['POST_UNKNOWN', 'input.source']])
  })

  test('a repetition changes nothing, and a deleted share is no longer counted', async () => {
    const author = newViewer()
    const source = await published(author, { text: 'a' })
    const share = await published(author, { source })
    expect(await posts(author, [source])).toMatchObject([{ repostCount: 1 }])
    for (let time = 0; time < 2; time++) {
      const { author: user, userErrors } = (await data(author, DELETE, { id: share })).deletePost
      expect([user, userErrors]).toEqual([{ id: author, postCount: 1 }, []])
      expect(await posts(author, [source])).toMatchObject([{ repostCount: 0 }])
    }
  })

  test('a repeated publication does not bring a deleted post back', async () => {
    const author = newViewer()
    const input = { clientKey: newKey(), text: 'once' }
    const id = await published(author, input)
    await data(author, DELETE, { id })
    const { post, repeated, userErrors } = await publish(author, input)
    expect([post.id, post.text, repeated, userErrors]).toEqual([id, null, true, []])
    expect(await posts(author, [id])).toEqual([null])
  })

  test('each mutation of a request is seen by the reads of its payload', async () => {
    const author = newViewer()
    const ids: string[] = []
    for (const text of ['1', '2', '3']) ids.push(await published(author, { text }))
    const [first, second, third] = ids as [string, string, string]
    const deletion = (id: string) => `deletePost(input: { id: "${id}" }) { author { posts(first: 5) { edges { node { id } } } } }`
    const { a, b } = await data(author, `mutation { a: ${deletion(first)} b: ${deletion(second)} }`)
    const idsOf = ({ author: { posts: page } }: any): string[] => page.edges.map(({ node }: any) => node.id)
    expect([idsOf(a), idsOf(b)]).toEqual([[third, second], [third]])
  })

  test('a deleted restricted post leaves the inboxes of its audience', async () => {
    const [author, friend] = [newViewer(), newViewer()]
    const id = await published(author, { text: 'secret', audience: [friend] })
    await data(author, DELETE, { id })
    expect(await home(friend)).toEqual([])
    expect(await posts(friend, [id])).toEqual([null])
  })

  test('another viewer cannot delete a post, and learns nothing of one that is not for them', async () => {
    const [author, friend] = [newViewer(), newViewer()]
    const open = await published(author, { text: 'a' })
    const secret = await published(author, { text: 'b', audience: [friend] })
    const refused = async (viewer: string, id: string) => (await data(viewer, DELETE, { id })).deletePost
    const message = expect.any(String) as string
    expect(await refused(friend, open)).toEqual({
      post: null,
      author: null,
      userErrors: [{ code: 'FORBIDDEN', message, path: ['input', 'id'] }],
    })
    expect((await refused(friend, secret)).userErrors).toMatchObject([{ code: 'FORBIDDEN' }])
    const unknown = (await refused(newViewer(), secret)).userErrors
    expect(unknown).toMatchObject([{ code: 'POST_UNKNOWN', path: ['input', 'id'] }])
    expect(unknown[0].message.replace(secret, '42')).toBe((await refused(friend, '42')).userErrors[0].message)
    expect((await refused(friend, '')).userErrors).toMatchObject([{ code: 'ID_INVALID' }])
    expect(await posts(friend, [open, secret])).toMatchObject([{ text: 'a' }, { text: 'b' }])
  })
})
