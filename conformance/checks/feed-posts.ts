/** Posts: readable at once, in the order of publication, once each, and gone after their deletion. */
import { randomUUID } from 'node:crypto'
import type { Audit } from '../audited.ts'
import type { Check } from '../check.ts'
import { expectMistake } from './bad-input.ts'
import { feed, idsOf, type Feed } from '../feed.ts'
import { WORDS, type Post } from '../feed-operations.ts'
import { walkList } from '../lists.ts'
import { expectEqual, expectFields, expectThat } from '../outcome.ts'
import type { AuditViewer } from '../viewer.ts'

/** More posts of an author than the first piece of a cached outbox has. */
const MANY = 50
const PAGE = 7

const numbered = (count: number, text = 'post') => Array.from({ length: count }, (_, at) => `${text} ${at}`)

/** Where a reader who follows the author finds the post. */
async function expectEverywhere({ homeIds, postIds, posts }: Feed, reader: AuditViewer, author: AuditViewer, id: string): Promise<void> {
  expectEqual("the author's posts", await postIds(reader, author.id), [id])
  expectEqual("the follower's homeFeed", await homeIds(reader), [id])
  expectEqual(
    'the ids of posts(ids)',
    (await posts(reader, [id])).map((post) => post?.id),
    [id],
  )
}

async function expectNowhere(calls: Feed, reader: AuditViewer, author: AuditViewer, post: Post): Promise<void> {
  expectEqual("the author's posts", await calls.postIds(reader, author.id), [])
  expectEqual('the postCount', await calls.postCount(reader, author.id), 0)
  expectEqual("the follower's homeFeed", await calls.homeIds(reader), [])
  expectEqual('posts(ids)', await calls.posts(reader, [post.id]), [null])
  const [entity] = await calls.entities(reader, post, [post.id])
  expectFields('the post as an entity', entity, { text: null, author: null, createdAt: null, media: null })
}

/** Three authors with `MANY` posts, one of them with most. Resolves to the ids, newest first, and a follower. */
async function fill(audit: Audit, calls: Feed): Promise<{ ids: string[]; author: AuditViewer; reader: AuditViewer }> {
  const [author, second, third] = [await audit.ownViewer(), await audit.ownViewer(), await audit.ownViewer()]
  const reader = await calls.follower(author, second, third)
  const ids: string[] = []
  for (let at = 0; at < MANY; at++) {
    const by = at % 5 === 1 ? second : at % 5 === 3 ? third : author
    ids.unshift(await calls.published(by, `post ${at}`))
  }
  return { ids, author, reader }
}

export const feedPosts: readonly Check[] = [
  {
    id: 'post-at-once',
    sentence: "A published post is at once in the author's posts, in the homeFeed of followers and in posts(ids), as it was sent.",
    async check(audit) {
      const calls = await feed(audit)
      const author = await audit.ownViewer()
      const reader = await calls.follower(author)
      const media = ['https://img.example/1.png', 'https://img.example/2.mp4']
      const begun = audit.now()
      const { post, repeated } = await calls.publish(author, { text: 'Über 😀', media })
      const expected = { author: { id: author.id }, text: 'Über 😀', media, restricted: false, source: null, sourceState: null }
      const counts = { repostCount: 0, commentCount: 0, readCount: 0 }
      expectFields('the published post', post, { ...expected, ...counts })
      expectEqual('repeated', repeated, false)
      // The clocks of a deployment may differ by seconds.
      expectThat(Math.abs((post.createdAt ?? 0) - begun) < 30_000, `createdAt near ${begun}`, post.createdAt)
      await expectEverywhere(calls, reader, author, post.id)
      expectEqual('the post as a follower reads it', await calls.posts(reader, [post.id]), [post])
      expectEqual('the post as an anonymous caller reads it', await calls.posts(audit.nobody, [post.id]), [post])
      expectEqual('the postCount', await calls.postCount(reader, author.id), 1)
    },
  },
  {
    id: 'post-across-processes',
    sentence: 'Another process shows a published post at once, and hides a deleted one at once.',
    async check(audit) {
      const calls = await feed(audit)
      const author = await audit.ownViewer()
      const reader = (await calls.follower(author)).at(audit.second())
      // The first read may fill a cache of the other process.
      expectEqual('the homeFeed at first', await calls.homeIds(reader), [])
      const { post } = await calls.publish(author, { text: 'a' })
      await expectEverywhere(calls, reader, author, post.id)
      await calls.deletePost(author, post.id)
      await expectNowhere(calls, reader, author, post)
    },
  },
  {
    id: 'publish-repeated',
    sentence: 'A repetition with the same clientKey returns the first post and `repeated: true`, and publishes nothing.',
    async check(audit) {
      const { publish, postIds, postCount, homeIds, follower } = await feed(audit)
      const author = await audit.ownViewer()
      const reader = await follower(author)
      const input = { clientKey: randomUUID(), text: 'once', media: ['https://img.example/1.png'] }
      const [first, ...others] = [await publish(author, input), await publish(author, input), await publish(author, input)]
      expectEqual('the repetitions', others, [
        { ...first, repeated: true },
        { ...first, repeated: true },
      ])
      const { id } = first.post
      expectEqual('the posts of the author', [await postIds(reader, author.id), await postCount(reader, author.id)], [[id], 1])
      expectEqual('the homeFeed', await homeIds(reader), [id])
      const other = await publish(reader, input)
      expectThat(!other.repeated && other.post.id !== id, 'a new post of another author with the same key', other)
    },
  },
  {
    id: 'publish-at-once',
    sentence: 'Of concurrent publications with one clientKey, one is published, and all return it.',
    async check(audit) {
      const { publish, postIds } = await feed(audit)
      const author = await audit.ownViewer()
      const input = { clientKey: randomUUID(), text: 'once' }
      const answers = await Promise.all(Array.from({ length: 8 }, () => publish(author, input)))
      const ids = new Set(answers.map(({ post }) => post.id))
      expectEqual('the number of different ids', ids.size, 1)
      expectEqual('the answers that are no repetition', answers.filter(({ repeated }) => !repeated).length, 1)
      expectEqual('the posts of the author', await postIds(author, author.id), [...ids])
    },
  },
  {
    id: 'client-key-reused',
    sentence: 'The same clientKey with another text, other media or another audience is refused with CLIENT_KEY_REUSED.',
    async check(audit) {
      const { publish, tryPublish, postIds, homeIds, posts } = await feed(audit)
      const [author, friend] = [await audit.ownViewer(), await audit.ownViewer()]
      const input = { clientKey: randomUUID(), text: 'first' }
      const { post } = await publish(author, input)
      for (const other of [{ text: 'second' }, { media: ['https://img.example/1.png'] }, { audience: [friend.id] }])
        expectMistake(await tryPublish(author, { ...input, ...other }), 'CLIENT_KEY_REUSED', ['clientKey'])
      expectEqual('the posts of the author', await postIds(author, author.id), [post.id])
      expectEqual('the first post', await posts(author, [post.id]), [post])
      expectEqual('the homeFeed of the other audience', await homeIds(friend), [])
    },
  },
  {
    id: 'home-newest-first',
    sentence: 'homeFeed has the posts of all followed users, newest first, and no others.',
    async check(audit) {
      const calls = await feed(audit)
      const { ids, author, reader } = await fill(audit, calls)
      await calls.published(await audit.ownViewer(), 'of a stranger')
      const { entries } = await calls.home(reader, { first: 100 })
      expectEqual('the number of posts', entries.length, ids.length)
      expectEqual('the posts in any order', entries.map(({ id }) => id).toSorted(), ids.toSorted())
      const times = entries.map(({ createdAt }) => createdAt)
      expectEqual(
        'createdAt of the posts',
        times,
        times.toSorted((a, b) => b - a),
      )
      const own = await calls.postIds(reader, author.id)
      expectEqual(
        'the posts of one author, in order of publication',
        own,
        ids.filter((id) => own.includes(id)),
      )
      expectEqual(
        'the posts of one author in homeFeed',
        entries.filter((entry) => entry.author.id === author.id).map(({ id }) => id),
        own,
      )
    },
  },
  {
    id: 'home-paged',
    sentence: 'Pages of homeFeed are full, and neither skip nor repeat while others publish.',
    async check(audit) {
      const calls = await feed(audit)
      const { ids, author, reader } = await fill(audit, calls)
      const expected = await calls.homeIds(reader)
      const walked = await walkList(
        (variables) => calls.home(reader, variables),
        PAGE,
        async (page) => void (await calls.published(author, `published after page ${page}`)),
      )
      expectEqual('the posts on all pages', walked, expected)
      expectEqual('the number of posts', walked.length, ids.length)
    },
  },
  {
    id: 'home-paged-while-deleting',
    sentence: 'A cursor stays valid after its own post is deleted. Pages are full, and neither skip nor repeat the other posts.',
    async check(audit) {
      const calls = await feed(audit)
      const { author, reader } = await fill(audit, calls)
      const own = new Set(await calls.postIds(reader, author.id))
      const before = await calls.homeIds(reader)
      const deleted = new Set<string>()
      const walked = await walkList(
        (variables) => calls.home(reader, variables),
        PAGE,
        async (_, last) => {
          const below = before.slice(before.indexOf(last) + 1).filter((id) => own.has(id))
          for (const id of [last, ...below.slice(1, 2)].filter((each) => own.has(each))) {
            await calls.deletePost(author, id)
            deleted.add(id)
          }
        },
      )
      const stayed = (id: string) => !deleted.has(id)
      expectEqual('the posts that stayed', walked.filter(stayed), before.filter(stayed))
      expectEqual('the number of repeated posts', walked.length - new Set(walked).size, 0)
      expectEqual('the homeFeed afterwards', await calls.homeIds(reader), before.filter(stayed))
    },
  },
  {
    id: 'user-posts-paged',
    sentence: 'Pages of the posts of a user are full, and neither skip nor repeat while the user publishes.',
    async check(audit) {
      const { publishedMany, published, userPosts } = await feed(audit)
      const author = await audit.ownViewer()
      const ids = await publishedMany(author, numbered(MANY))
      const walked = await walkList(
        (variables) => userPosts(audit.nobody, author.id, variables),
        PAGE,
        async (page) => void (await published(author, `published after page ${page}`)),
      )
      expectEqual('the posts on all pages', walked, ids)
    },
  },
  {
    id: 'home-after-unfollow',
    sentence: 'The next page of homeFeed has no post of a user who was unfollowed, and has the posts of a newly followed one.',
    async check(audit) {
      const { publishedMany, home, homeIds, follow, unfollow, follower } = await feed(audit)
      const [left, kept, added] = [await audit.ownViewer(), await audit.ownViewer(), await audit.ownViewer()]
      const reader = await follower(left, kept)
      const ofAdded = await publishedMany(added, numbered(4))
      const ofLeft = await publishedMany(left, numbered(4))
      const ofKept = await publishedMany(kept, numbered(4))
      const first = await home(reader, { first: 6 })
      expectEqual('the first page', idsOf(first), [...ofKept, ...ofLeft.slice(0, 2)])
      await unfollow(reader, [left.id])
      await follow(reader, [added.id])
      expectEqual('the next page', idsOf(await home(reader, { first: 6, after: first.pageInfo.endCursor })), ofAdded)
      expectEqual('the homeFeed', await homeIds(reader), [...ofKept, ...ofAdded])
    },
  },
  {
    id: 'posts-in-order',
    sentence: 'posts(ids) answers up to 200 ids in their order, with null for a post that does not exist.',
    async check(audit) {
      const { publishedMany, deletePost, posts } = await feed(audit)
      const author = await audit.ownViewer()
      const [a = '', b = '', gone = ''] = await publishedMany(author, numbered(3))
      await deletePost(author, gone)
      const pattern = [b, audit.newOid(), a, a, gone, 'no id of a post', b, '1']
      const ids = Array.from({ length: 200 }, (_, at) => pattern[at % pattern.length] as string)
      expectEqual(
        'the ids of the answers',
        (await posts(audit.nobody, ids)).map((post) => post?.id ?? null),
        ids.map((id) => ([a, b].includes(id) ? id : null)),
      )
      expectEqual('the answer to no ids', await posts(audit.nobody, []), [])
    },
  },
  {
    id: 'filter-words',
    sentence: 'homeFeed leaves out posts with a filter word and replaces them by the next posts, so that pages stay full.',
    async check(audit) {
      const { publishedMany, setWords, home, homeIds, follower } = await feed(audit)
      const author = await audit.ownViewer()
      const reader = await follower(author)
      const kinds = ['about cats', 'a SPOILER here', 'about dogs', 'the last Season of it', 'ÜBER alles']
      const texts = numbered(30).map((text, at) => `${kinds[at % kinds.length]}, ${text}`)
      const all = await publishedMany(author, texts)
      const kept = all.filter((_, at) => texts[texts.length - 1 - at]?.startsWith('about'))
      await setWords(reader, ['spoiler', 'last season', 'über'])
      expectEqual('the homeFeed', await homeIds(reader), kept)
      expectEqual('all pages of 5', await walkList((variables) => home(reader, variables), 5), kept)
      await setWords(reader, [])
      expectEqual('the homeFeed without filter words', await homeIds(reader), all)
    },
  },
  {
    id: 'filter-words-of-one-viewer',
    sentence: 'Filter words hide posts in the homeFeed of their viewer only, and can be read back.',
    async check(audit) {
      const { published, setWords, homeIds, postIds, posts, follower } = await feed(audit)
      const author = await audit.ownViewer()
      const [reader, other] = [await follower(author), await follower(author)]
      const id = await published(author, 'about cats')
      await setWords(reader, ['cats', 'dogs'])
      expectEqual('the homeFeed of the viewer', await homeIds(reader), [])
      expectEqual('the homeFeed of another follower', await homeIds(other), [id])
      expectEqual("the author's posts", await postIds(reader, author.id), [id])
      expectEqual('posts(ids)', [(await posts(reader, [id]))[0]?.id], [id])
      const words = async (viewer: AuditViewer) => (await viewer.data<{ filterWords: unknown }>(WORDS)).filterWords
      expectEqual('the filter words', await words(reader), { words: ['cats', 'dogs'] })
      expectEqual('the filter words of another viewer', await words(other), { words: [] })
    },
  },
  {
    id: 'deleted-post-gone',
    sentence: 'A deleted post is at once in no list, lookup or count, and a repeated deletion changes nothing.',
    async check(audit) {
      const calls = await feed(audit)
      const author = await audit.ownViewer()
      const reader = await calls.follower(author)
      const { post } = await calls.publish(author, { text: 'gone soon' })
      // Reads before the deletion may fill caches.
      await expectEverywhere(calls, reader, author, post.id)
      for (const time of ['first', 'second']) {
        const expected = { post: { id: post.id, text: null }, author: { id: author.id, postCount: 0 } }
        expectEqual(`the answer to the ${time} deletion`, await calls.deletePost(author, post.id), expected)
        for (const viewer of [reader, author]) expectEqual('posts(ids)', await calls.posts(viewer, [post.id]), [null])
        await expectNowhere(calls, reader, author, post)
      }
    },
  },
  {
    id: 'deleted-post-stays-deleted',
    sentence: 'A repetition of its publication does not bring a deleted post back.',
    async check(audit) {
      const calls = await feed(audit)
      const author = await audit.ownViewer()
      const reader = await calls.follower(author)
      const input = { clientKey: randomUUID(), text: 'once' }
      const { post } = await calls.publish(author, input)
      await calls.deletePost(author, post.id)
      const { post: again, repeated } = await calls.publish(author, input)
      expectEqual('id, text and repeated of the answer', [again.id, again.text, repeated], [post.id, null, true])
      await expectNowhere(calls, reader, author, post)
    },
  },
  {
    id: 'source-of-repost',
    sentence: 'A repost shows its source. After the deletion of the source it is null with the state DELETED.',
    async check(audit) {
      const { publish, published, posts, entities, deletePost, homeIds, follower } = await feed(audit)
      const [author, sharer] = [await audit.ownViewer(), await audit.ownViewer()]
      const reader = await follower(author, sharer)
      const source = await published(author, 'gone soon')
      const { post } = await publish(sharer, { text: 'look', source })
      const read = async () => [...(await posts(reader, [post.id])), ...(await entities(reader, post, [post.id]))]
      const states = (all: (Post | null)[]) => all.map((each) => [each?.text, each?.source, each?.sourceState])
      const shown = ['look', { id: source, text: 'gone soon' }, 'SHOWN']
      expectEqual('text, source and sourceState of the answer', states([post]), [shown])
      expectEqual('text, source and sourceState', states(await read()), [shown, shown])
      await deletePost(author, source)
      const without = ['look', null, 'DELETED']
      expectEqual('text, source and sourceState after the deletion', states(await read()), [without, without])
      expectEqual('the homeFeed', await homeIds(reader), [post.id])
    },
  },
]
