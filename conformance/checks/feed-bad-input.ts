/** Bad input to the feed gets a code and a message, and nothing of it is stored. */
import { randomUUID } from 'node:crypto'
import { codesOf, type Answer } from '../answer.ts'
import type { Audit } from '../audited.ts'
import { expectMistake, expectNobodyAnswered, expectSentence, expectSentenceOf } from './bad-input.ts'
import type { Check } from '../check.ts'
import { ids } from './existence.ts'
import { feed } from '../feed.ts'
import {
  COUNT,
  DELETE_POST,
  FOLLOW,
  FOLLOWERS,
  FOLLOWING,
  HOME,
  POSTS,
  PUBLISH,
  SET_WORDS,
  UNFOLLOW,
  USER_POSTS,
  WORDS,
  type PostInput,
} from '../feed-operations.ts'
import { expectEqual, expectFields, expectThat } from '../outcome.ts'

const LONG_ID = 'x'.repeat(65)
const HALF = 'half \ud83d'
const HTTPS = 'https://a.example/b'

type BadPost = { id: string; what: string; code: string; path: string[]; input: PostInput }

const POSTS_REFUSED: readonly BadPost[] = [
  { id: 'text-long', what: 'a text of 2,001 characters', code: 'TEXT_INVALID', path: ['text'], input: { text: '😀'.repeat(2_001) } },
  { id: 'text-broken', what: 'a text with half a surrogate pair', code: 'TEXT_INVALID', path: ['text'], input: { text: HALF } },
  { id: 'empty', what: 'neither text nor media nor source', code: 'TEXT_INVALID', path: ['text'], input: { text: ' \n' } },
  { id: 'media-many', what: '10 media', code: 'MEDIA_INVALID', path: ['media'], input: { media: ids(10).map(() => HTTPS) } },
  {
    id: 'media-address',
    what: 'an address that is not https',
    code: 'MEDIA_INVALID',
    path: ['media', '1'],
    input: { media: [HTTPS, 'http://a.example/b'] },
  },
  { id: 'audience-empty', what: 'an empty audience', code: 'AUDIENCE_INVALID', path: ['audience'], input: { text: 'a', audience: [] } },
  {
    id: 'audience-1001',
    what: 'an audience of 1,001',
    code: 'AUDIENCE_INVALID',
    path: ['audience'],
    input: { text: 'a', audience: ids(1_001) },
  },
  {
    id: 'audience-id-long',
    what: 'an id of 65 bytes in the audience',
    code: 'ID_INVALID',
    path: ['audience', '1'],
    input: { text: 'a', audience: ['1', LONG_ID] },
  },
  {
    id: 'audience-id-broken',
    what: 'an id with half a surrogate pair in the audience',
    code: 'ID_INVALID',
    path: ['audience', '0'],
    input: { text: 'a', audience: [HALF] },
  },
  { id: 'key-empty', what: 'an empty clientKey', code: 'KEY_INVALID', path: ['clientKey'], input: { text: 'a', clientKey: '' } },
  {
    id: 'key-long',
    what: 'a clientKey of 66 bytes',
    code: 'KEY_INVALID',
    path: ['clientKey'],
    input: { text: 'a', clientKey: 'ü'.repeat(33) },
  },
  {
    id: 'source-unknown',
    what: 'a source that does not exist',
    code: 'POST_UNKNOWN',
    path: ['source'],
    input: { text: 'a', source: '1' },
  },
]

function refusedPost({ id, what, code, path, input }: BadPost): Check {
  return {
    id: `publish-${id}`,
    sentence: `A post with ${what} is refused with ${code}, and nothing is published.`,
    async check(audit) {
      const { tryPublish, postIds, postCount } = await feed(audit)
      const author = await audit.ownViewer()
      const answer = await tryPublish(author, input)
      expectMistake(answer, code, path)
      expectFields('the answer', answer.data?.publishPost, { post: null, repeated: false })
      expectEqual('the posts of the author', await postIds(author, author.id), [])
      expectEqual('the postCount', await postCount(author, author.id), 0)
    },
  }
}

type BadRead = { id: string; sentence: string; code: string; query: string; variables: Record<string, unknown> }

const READS: readonly BadRead[] = [
  { id: 'home-first-0', sentence: 'A page of 0 of homeFeed is refused.', code: 'FIRST_INVALID', query: HOME, variables: { first: 0 } },
  {
    id: 'home-first-101',
    sentence: 'A page of 101 of homeFeed is refused.',
    code: 'FIRST_INVALID',
    query: HOME,
    variables: { first: 101 },
  },
  {
    id: 'user-posts-first-101',
    sentence: 'A page of 101 posts of a user is refused.',
    code: 'FIRST_INVALID',
    query: USER_POSTS,
    variables: { id: '1', first: 101 },
  },
  {
    id: 'home-cursor-broken',
    sentence: 'A string that is no cursor is refused for homeFeed.',
    code: 'CURSOR_INVALID',
    query: HOME,
    variables: { after: 'No such cursor!' },
  },
  {
    id: 'user-posts-cursor-broken',
    sentence: 'A string that is no cursor is refused for the posts of a user.',
    code: 'CURSOR_INVALID',
    query: USER_POSTS,
    variables: { id: '1', after: 'AAAA' },
  },
  {
    id: 'following-cursor-broken',
    sentence: 'A string that is no cursor is refused for following.',
    code: 'CURSOR_INVALID',
    query: FOLLOWING,
    variables: { id: '1', after: 'AAAA' },
  },
  { id: 'posts-201-ids', sentence: 'A lookup of 201 posts is refused.', code: 'IDS_TOO_MANY', query: POSTS, variables: { ids: ids(201) } },
  { id: 'posts-id-long', sentence: 'A post id of 65 bytes is refused.', code: 'ID_INVALID', query: POSTS, variables: { ids: [LONG_ID] } },
]

function refusedRead({ id, sentence, code, query, variables }: BadRead): Check {
  return {
    id,
    sentence,
    async check(audit) {
      await feed(audit)
      const answer: Answer<unknown> = await (await audit.anyViewer()).ask(query, variables)
      expectEqual('the codes of the errors', codesOf(answer), [code])
      expectSentenceOf(answer)
    },
  }
}

type BadWords = { id: string; what: string; path: string[]; words: readonly string[] }

const WORDS_REFUSED: readonly BadWords[] = [
  { id: '101', what: '101 filter words', path: ['words'], words: ids(101) },
  { id: 'blank', what: 'A filter word of blanks', path: ['words', '1'], words: ['a', '  '] },
  { id: 'long', what: 'A filter word of 51 characters', path: ['words', '0'], words: ['😀'.repeat(51)] },
  { id: 'broken', what: 'A filter word with half a surrogate pair', path: ['words', '0'], words: [HALF] },
]

function refusedWords({ id, what, path, words }: BadWords): Check {
  return {
    id: `filter-words-${id}`,
    sentence: `${what} is refused with FILTER_WORDS_INVALID, and the words stay as they were.`.replace('words is', 'words are'),
    async check(audit) {
      const { setWords } = await feed(audit)
      const viewer = await audit.ownViewer()
      await setWords(viewer, ['before'])
      expectMistake(await viewer.ask(SET_WORDS, { words }), 'FILTER_WORDS_INVALID', path)
      expectEqual('the stored words', await viewer.data(WORDS), { filterWords: { words: ['before'] } })
    },
  }
}

async function expectCursorsRefused(audit: Audit): Promise<void> {
  const { published, follower, home, userPosts, following } = await feed(audit)
  const author = await audit.ownViewer()
  const [viewer, other] = [await follower(author), await follower(author)]
  await published(author, 'a')
  const ofHome = (await home(viewer)).pageInfo.endCursor
  const ofPosts = (await userPosts(viewer, author.id)).pageInfo.endCursor
  const ofFollowing = (await following(viewer, viewer.id)).pageInfo.endCursor
  const cursors = [ofHome, ofPosts, ofFollowing]
  expectThat(!cursors.includes(null), 'an endCursor of each list', cursors)
  const answers = [
    await other.ask(HOME, { after: ofHome }),
    await viewer.ask(HOME, { after: ofPosts }),
    await viewer.ask(HOME, { after: ofFollowing }),
    await viewer.ask(USER_POSTS, { id: author.id, after: ofHome }),
    await viewer.ask(USER_POSTS, { id: other.id, after: ofPosts }),
    await viewer.ask(FOLLOWING, { id: viewer.id, after: ofHome }),
    await viewer.ask(FOLLOWING, { id: other.id, after: ofFollowing }),
    await viewer.ask(FOLLOWERS, { id: viewer.id, after: ofFollowing }),
  ]
  expectEqual(
    'the codes of the errors',
    answers.map(codesOf),
    answers.map(() => ['CURSOR_INVALID']),
  )
}

export const feedBadInput: readonly Check[] = [
  ...POSTS_REFUSED.map(refusedPost),
  ...READS.map(refusedRead),
  ...WORDS_REFUSED.map(refusedWords),
  {
    id: 'feed-cursors-of-other-lists',
    sentence: 'A cursor of another list, or of the same list of another user, is refused with CURSOR_INVALID.',
    check: expectCursorsRefused,
  },
  {
    id: 'follow-bad-ids',
    sentence: 'Following oneself or an id that is not valid is rejected with its code, and the others of the call are followed.',
    async check(audit) {
      const { follow, following } = await feed(audit)
      const viewer = await audit.ownViewer()
      const [a, b] = [audit.newOid(), audit.newOid()]
      const results = await follow(viewer, [a, viewer.id, '', LONG_ID, HALF, b])
      expectEqual(
        'outcome, code and path of each result',
        results.map(({ outcome, userErrors }) => [outcome, ...userErrors.flatMap(({ code, path }) => [code, path.join('.')])]),
        [
          ['CHANGED'],
          ['REJECTED', 'FOLLOW_SELF', 'input.ids.1'],
          ['REJECTED', 'ID_INVALID', 'input.ids.2'],
          ['REJECTED', 'ID_INVALID', 'input.ids.3'],
          ['REJECTED', 'ID_INVALID', 'input.ids.4'],
          ['CHANGED'],
        ],
      )
      for (const { userErrors } of results) for (const { message } of userErrors) expectSentence(message)
      const followed = (await following(viewer, viewer.id)).entries.map(({ id }) => id)
      expectEqual('the followed users', followed.toSorted(), [a, b].toSorted())
    },
  },
  {
    id: 'follow-501',
    sentence: 'A call to follow 501 users is refused as a whole with INPUTS_TOO_MANY.',
    async check(audit) {
      const { user } = await feed(audit)
      const viewer = await audit.ownViewer()
      const answer = await viewer.ask<{ follow: { results: unknown[] } }>(FOLLOW, { ids: ids(501, `${viewer.id}-`) })
      expectMistake(answer, 'INPUTS_TOO_MANY', ['ids'])
      expectEqual('the results', answer.data?.follow.results, [])
      expectEqual('the followingCount', (await user(viewer, viewer.id)).followingCount, 0)
    },
  },
  {
    id: 'delete-of-others',
    sentence: 'Only the author deletes a post: others get FORBIDDEN, or POST_UNKNOWN for a post that they cannot read, and it stays.',
    async check(audit) {
      const { published, posts } = await feed(audit)
      const [author, friend, stranger] = [await audit.ownViewer(), await audit.ownViewer(), await audit.ownViewer()]
      const open = await published(author, 'a')
      const secret = await published(author, 'b', { audience: [friend.id] })
      expectMistake(await stranger.ask(DELETE_POST, { id: open }), 'FORBIDDEN', ['id'])
      expectMistake(await friend.ask(DELETE_POST, { id: secret }), 'FORBIDDEN', ['id'])
      for (const id of [secret, '1']) expectMistake(await stranger.ask(DELETE_POST, { id }), 'POST_UNKNOWN', ['id'])
      expectMistake(await stranger.ask(DELETE_POST, { id: '' }), 'ID_INVALID', ['id'])
      expectEqual(
        'the texts of the posts',
        (await posts(friend, [open, secret])).map((post) => post?.text),
        ['a', 'b'],
      )
    },
  },
  {
    id: 'source-deleted',
    sentence: 'A deleted post cannot be shared: the share is refused with POST_UNKNOWN.',
    async check(audit) {
      const { published, deletePost, tryPublish, postIds } = await feed(audit)
      const [author, sharer] = [await audit.ownViewer(), await audit.ownViewer()]
      const source = await published(author, 'a')
      await deletePost(author, source)
      expectMistake(await tryPublish(sharer, { source, text: 'look' }), 'POST_UNKNOWN', ['source'])
      expectEqual('the posts of the sharer', await postIds(sharer, sharer.id), [])
    },
  },
  {
    id: 'count-bad-events',
    sentence: 'Each bad event gets its code and counts nothing, and the others of the call count.',
    async check(audit) {
      const { published, counter, count, posts } = await feed(audit)
      const [author, service] = [await audit.ownViewer(), await counter()]
      const id = await published(author, 'a')
      const good = () => ({ key: randomUUID(), id, counter: 'COMMENT', delta: 1 })
      const events = [
        { ...good(), delta: 0 },
        { ...good(), delta: 1_000_001 },
        { ...good(), key: '' },
        { ...good(), key: LONG_ID },
        { ...good(), id: '' },
        { ...good(), id: '1' },
        good(),
      ]
      const results = await count(service, events)
      expectEqual(
        'outcome, code and path of each result',
        results.map(({ outcome, userErrors }) => [outcome, ...userErrors.flatMap(({ code, path }) => [code, path.join('.')])]),
        [
          ['REJECTED', 'DELTA_INVALID', 'input.events.0.delta'],
          ['REJECTED', 'DELTA_INVALID', 'input.events.1.delta'],
          ['REJECTED', 'KEY_INVALID', 'input.events.2.key'],
          ['REJECTED', 'KEY_INVALID', 'input.events.3.key'],
          ['REJECTED', 'ID_INVALID', 'input.events.4.id'],
          ['REJECTED', 'POST_UNKNOWN', 'input.events.5.id'],
          ['COUNTED'],
        ],
      )
      for (const { userErrors } of results) for (const { message } of userErrors) expectSentence(message)
      expectEqual('the commentCount', (await posts(author, [id]))[0]?.commentCount, 1)
    },
  },
  {
    id: 'count-501',
    sentence: 'A call with 501 events is refused as a whole with INPUTS_TOO_MANY.',
    async check(audit) {
      const { published, counter, posts } = await feed(audit)
      const [author, service] = [await audit.ownViewer(), await counter()]
      const id = await published(author, 'a')
      const events = ids(501, `${randomUUID()}-`).map((key) => ({ key, id, counter: 'READ', delta: 1 }))
      const answer = await service.ask<{ adjustCounts: { results: unknown[] } }>(COUNT, { events })
      expectMistake(answer, 'INPUTS_TOO_MANY', ['events'])
      expectEqual('the results', answer.data?.adjustCounts.results, [])
      expectEqual('the readCount', (await posts(author, [id]))[0]?.readCount, 0)
    },
  },
  {
    id: 'count-without-scope',
    sentence: 'adjustCounts without the scope counts:write is refused, and counts nothing.',
    async check(audit) {
      const { published, posts } = await feed(audit)
      const author = await audit.ownViewer()
      const id = await published(author, 'a')
      const events = [{ key: randomUUID(), id, counter: 'READ', delta: 1 }]
      expectEqual('the codes of the errors', codesOf(await author.ask(COUNT, { events })), ['UNAUTHORIZED_FIELD_OR_TYPE'])
      expectEqual('the readCount', (await posts(author, [id]))[0]?.readCount, 0)
    },
  },
  {
    id: 'feed-for-nobody',
    sentence: 'An anonymous caller has no homeFeed, follows nobody and publishes nothing, and gets UNAUTHENTICATED.',
    async check(audit) {
      await feed(audit)
      await expectNobodyAnswered(audit, [
        [HOME, {}],
        [WORDS, {}],
        [PUBLISH, { input: { clientKey: randomUUID(), text: 'a' } }],
        [DELETE_POST, { id: '1' }],
        [FOLLOW, { ids: ['1'] }],
        [UNFOLLOW, { ids: ['1'] }],
        [SET_WORDS, { words: [] }],
        [FOLLOWING, { id: '1' }],
        [FOLLOWERS, { id: '1' }],
      ])
    },
  },
]
