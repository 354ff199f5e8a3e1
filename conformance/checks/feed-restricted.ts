/** A post for chosen viewers is shown to them and to its author, and to nobody else, in any list, count or lookup. */
import type { Audit } from '../audited.ts'
import type { Check } from '../check.ts'
import { expectMistake } from './bad-input.ts'
import { feed, type Feed } from '../feed.ts'
import type { Post } from '../feed-operations.ts'
import { thumbup } from '../marks.ts'
import { expectEqual, expectFields } from '../outcome.ts'
import type { AuditViewer } from '../viewer.ts'

const TEXT = 'only for you'
const HIDDEN = {
  ...{ author: null, text: null, media: null, createdAt: null, restricted: null, source: null, sourceState: null },
  ...{ repostCount: null, commentCount: null, readCount: null },
}

/** An author with a follower who is not in the audience of a post, and a friend who is, without following. */
async function fill(audit: Audit, calls: Feed): Promise<{ author: AuditViewer; friend: AuditViewer; stranger: AuditViewer; post: Post }> {
  const [author, friend] = [await audit.ownViewer(), await audit.ownViewer()]
  const stranger = await calls.follower(author)
  const { post } = await calls.publish(author, { text: TEXT, audience: [friend.id] })
  return { author, friend, stranger, post }
}

export const feedRestricted: readonly Check[] = [
  {
    id: 'restricted-for-audience',
    sentence:
      'A post for chosen viewers is at once in the homeFeed of each of them, followers or not, and they and the author can look it up.',
    async check(audit) {
      const calls = await feed(audit)
      const [author, friend] = [await audit.ownViewer(), await audit.ownViewer()]
      const follower = await calls.follower(author)
      const audience = [friend.id, follower.id, friend.id]
      const { post } = await calls.publish(author, { text: TEXT, audience })
      expectFields('the answer', post, { text: TEXT, restricted: true, author: { id: author.id } })
      for (const reader of [friend, follower]) expectEqual('the homeFeed of a chosen viewer', await calls.homeIds(reader), [post.id])
      for (const reader of [author, friend, follower]) {
        expectEqual('the post in posts(ids)', await calls.posts(reader, [post.id]), [post])
        expectEqual('the post as an entity', await calls.entities(reader, post, [post.id]), [post])
      }
    },
  },
  {
    id: 'restricted-for-the-largest-audience',
    sentence: 'A post may be for 1,000 viewers, including some who were never seen before.',
    async check(audit) {
      const { publish, homeIds } = await feed(audit)
      const [author, friend] = [await audit.ownViewer(), await audit.ownViewer()]
      const audience = [...Array.from({ length: 999 }, (_, at) => `${friend.id}-${at}`), friend.id]
      const { post } = await publish(author, { text: TEXT, audience })
      expectEqual('the homeFeed of the last of the audience', await homeIds(friend), [post.id])
    },
  },
  {
    id: 'restricted-in-no-list',
    sentence: 'A post for others is in no list: neither in the homeFeed of other followers nor in the posts of its author.',
    async check(audit) {
      const calls = await feed(audit)
      const { author, friend, stranger } = await fill(audit, calls)
      expectEqual('the homeFeed of another follower', await calls.homeIds(stranger), [])
      for (const reader of [stranger, friend, author, audit.nobody])
        expectEqual(`the author's posts as ${reader.id} reads them`, await calls.postIds(reader, author.id), [])
    },
  },
  {
    id: 'restricted-in-no-lookup',
    sentence: 'posts(ids) of any other caller finds nothing, as for a post that does not exist.',
    async check(audit) {
      const calls = await feed(audit)
      const { stranger, post } = await fill(audit, calls)
      for (const reader of [stranger, audit.nobody])
        expectEqual(`posts(ids) as ${reader.id} reads it`, await calls.posts(reader, [post.id, '1']), [null, null])
    },
  },
  {
    id: 'restricted-as-entity',
    sentence: 'If another subgraph found a post for others, its fields of the feed are null.',
    async check(audit) {
      const calls = await feed(audit)
      const { stranger, post } = await fill(audit, calls)
      const { __typename, business, id } = post
      for (const reader of [stranger, audit.nobody])
        expectEqual(`the post as ${reader.id} reads it`, await calls.entities(reader, post, [id]), [
          { __typename, id, business, ...HIDDEN },
        ])
    },
  },
  {
    id: 'restricted-across-processes',
    sentence: 'Another process shows a post for chosen viewers to them at once, and to nobody else.',
    async check(audit) {
      const calls = await feed(audit)
      const second = audit.second()
      const { author, friend, stranger, post } = await fill(audit, calls)
      expectEqual('the homeFeed of a chosen viewer', await calls.homeIds(friend.at(second)), [post.id])
      expectEqual('the homeFeed of another follower', await calls.homeIds(stranger.at(second)), [])
      expectEqual('posts(ids) of another follower', await calls.posts(stranger.at(second), [post.id]), [null])
      expectEqual("the author's posts", await calls.postIds(stranger.at(second), author.id), [])
    },
  },
  {
    id: 'restricted-not-counted',
    sentence: 'A post for chosen viewers counts neither in postCount nor in the repostCount of its source.',
    async check(audit) {
      const calls = await feed(audit)
      const { author, friend, stranger } = await fill(audit, calls)
      const source = await calls.published(author, 'public')
      await calls.published(friend, 'a share for one', { source, audience: [stranger.id] })
      for (const reader of [author, friend, stranger, audit.nobody]) {
        expectEqual(`the postCount as ${reader.id} reads it`, await calls.postCount(reader, author.id), 1)
        expectEqual(`the repostCount as ${reader.id} reads it`, (await calls.posts(reader, [source]))[0]?.repostCount, 0)
      }
    },
  },
  {
    id: 'restricted-not-shared',
    sentence:
      'A post for chosen viewers cannot be shared: they get SOURCE_RESTRICTED, and others POST_UNKNOWN as for a post that does not exist.',
    async check(audit) {
      const { tryPublish, postIds, ...calls } = await feed(audit)
      const { friend, stranger, post } = await fill(audit, { tryPublish, postIds, ...calls })
      expectMistake(await tryPublish(friend, { source: post.id }), 'SOURCE_RESTRICTED', ['source'])
      expectMistake(await tryPublish(stranger, { source: post.id }), 'POST_UNKNOWN', ['source'])
      expectMistake(await tryPublish(stranger, { source: '1' }), 'POST_UNKNOWN', ['source'])
      for (const viewer of [friend, stranger]) expectEqual('the posts of the viewer', await postIds(viewer, viewer.id), [])
    },
  },
  {
    id: 'restricted-deleted',
    sentence: 'A deleted post for chosen viewers leaves their homeFeed and lookups at once.',
    async check(audit) {
      const calls = await feed(audit)
      const { author, friend, post } = await fill(audit, calls)
      expectEqual('the homeFeed before', await calls.homeIds(friend), [post.id])
      // Reads before the deletion may fill caches.
      for (const reader of [friend, author]) expectEqual('posts(ids) before', await calls.posts(reader, [post.id]), [post])
      await calls.deletePost(author, post.id)
      expectEqual('the homeFeed', await calls.homeIds(friend), [])
      for (const reader of [friend, author]) expectEqual('posts(ids)', await calls.posts(reader, [post.id]), [null])
      expectFields('the post as an entity', (await calls.entities(friend, post, [post.id]))[0], HIDDEN)
    },
  },
]

export const restrictedStay: readonly Check[] = [
  {
    id: 'restricted-marks',
    sentence:
      'Marks of a post for chosen viewers are shown to them and the author alone. A mark of another viewer is rejected with POST_UNKNOWN.',
    async check(audit) {
      const calls = await feed(audit)
      const { author, friend, stranger, post } = await fill(audit, calls)
      const { mark, states, counts } = await thumbup(audit, post.business)
      expectFields('the mark of a chosen viewer', await mark(friend, post.id, 'LIKE'), { outcome: 'ACCEPTED', mark: 'LIKE' })
      const refused = await mark(stranger, post.id, 'DISLIKE')
      expectFields('the mark of another viewer', refused, { outcome: 'REJECTED', mark: null, subject: null })
      expectEqual(
        'code and path of the userErrors',
        refused.userErrors.map(({ code, path }) => [code, ...path]),
        [['POST_UNKNOWN', 'input', 'id']],
      )
      await audit.settled('the counts as the author reads them', () => counts(author, [post.id]), [[1, 0]])
      for (const reader of [stranger, audit.nobody])
        expectEqual(`the counts as ${reader.id} reads them`, await counts(reader, [post.id]), [[0, 0]])
      expectFields('the post as another viewer reads it', (await states(stranger, [post.id]))[0], { likeCount: 0, viewerMark: 'NONE' })
    },
  },
]
