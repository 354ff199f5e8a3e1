/**
 * The calls of the feed for checks. Authors and readers are the audit's own viewers, so no other caller changes their lists. Posts, follows
 * and filter words are removed at the end.
 */
import { randomUUID } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
import { SCOPE_COUNTS_WRITE } from '../core/viewer.ts'
import { userErrorsOf, type Answer, type UserError } from './answer.ts'
import type { Audit } from './audited.ts'
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
  USER,
  USER_POSTS,
  entitiesOf,
  type CountEvent,
  type CountResult,
  type FeedUser,
  type FollowResult,
  type NodePage,
  type Post,
  type PostEntry,
  type PostInput,
  type PostPage,
  type UserPage,
} from './feed-operations.ts'
import type { ListPage, PageVariables } from './lists.ts'
import { CheckFailed, CheckSkipped, expectEqual } from './outcome.ts'
import type { AuditViewer } from './viewer.ts'

type Published = { post: Post | null; repeated: boolean; userErrors: UserError[] }
type Deleted = { post: { id: string; text: string | null } | null; author: { id: string; postCount: number | null } | null }

export type Feed = Awaited<ReturnType<typeof feed>>

/** Throws CheckSkipped if the deployment does not serve the feed. */
export async function feed(audit: Audit) {
  const probe = await (await audit.anyViewer()).ask(USER, { id: '1' })
  if (probe.errors.some(({ message }) => message.startsWith('Cannot query field "feedUser"')))
    throw new CheckSkipped('this deployment does not serve the feed')

  return { ...postCalls(audit), ...followCalls(audit), ...countCalls(audit) }
}

function postCalls(audit: Audit) {
  /** Also for input that is wrong: a post that is published anyway is deleted at the end. */
  async function tryPublish(author: AuditViewer, input: PostInput): Promise<Answer<{ publishPost: Published }>> {
    const answer = await author.ask<{ publishPost: Published }>(PUBLISH, { input: { clientKey: randomUUID(), ...input } })
    const id = answer.data?.publishPost?.post?.id
    if (id !== undefined) audit.undoAtEnd(author, () => author.data(DELETE_POST, { id }))
    return answer
  }

  async function publish(author: AuditViewer, input: PostInput): Promise<{ post: Post; repeated: boolean }> {
    const answer = await tryPublish(author, input)
    const { post, repeated } = answer.data?.publishPost ?? {}
    if (post === undefined || post === null || repeated === undefined)
      throw new CheckFailed('the post to be published', userErrorsOf(answer)[0]?.message ?? answer.errors[0]?.message ?? 'no post')
    return { post, repeated }
  }

  async function posts(viewer: AuditViewer, ids: readonly string[]): Promise<(Post | null)[]> {
    return (await viewer.data<{ posts: (Post | null)[] }>(POSTS, { ids })).posts
  }

  async function home(viewer: AuditViewer, variables: PageVariables = {}): Promise<ListPage<PostEntry>> {
    return listOf('homeFeed', (await viewer.data<{ homeFeed: PostPage | null }>(HOME, { ...variables })).homeFeed)
  }

  async function userPosts(viewer: AuditViewer, id: string, variables: PageVariables = {}): Promise<ListPage> {
    const { feedUser } = await viewer.data<{ feedUser: { posts: PostPage | null } | null }>(USER_POSTS, { id, ...variables })
    return listOf('posts of the user', feedUser?.posts)
  }

  return {
    tryPublish,
    publish,
    posts,
    home,
    userPosts,
    /** Publishes, and resolves to the id. */
    async published(author: AuditViewer, text: string, more: PostInput = {}): Promise<string> {
      return (await publish(author, { text, ...more })).post.id
    },
    /** Publishes one after the other. Resolves to the ids, newest first. */
    async publishedMany(author: AuditViewer, texts: readonly string[]): Promise<string[]> {
      const ids: string[] = []
      for (const text of texts) ids.unshift((await publish(author, { text })).post.id)
      return ids
    },
    async deletePost(author: AuditViewer, id: string): Promise<Deleted> {
      const { deletePost } = await author.data<{ deletePost: Deleted & { userErrors: UserError[] } }>(DELETE_POST, { id })
      const { userErrors, ...payload } = deletePost
      expectEqual('the userErrors of the deletion', userErrors, [])
      return payload
    },
    /** The ids of the newest hundred. */
    homeIds: async (viewer: AuditViewer) => idsOf(await home(viewer, { first: PAGE_MAX })),
    postIds: async (viewer: AuditViewer, id: string) => idsOf(await userPosts(viewer, id, { first: PAGE_MAX })),
    async postCount(viewer: AuditViewer, id: string): Promise<number | null> {
      const { feedUser } = await viewer.data<{ feedUser: { postCount: number | null } | null }>(USER_POSTS, { id, first: 1 })
      return known('the user', feedUser).postCount
    },
    async setWords(viewer: AuditViewer, words: readonly string[]): Promise<void> {
      audit.undoAtEnd(viewer, () => viewer.data(SET_WORDS, { words: [] }))
      const { setFilterWords } = await viewer.data<{ setFilterWords: unknown }>(SET_WORDS, { words })
      expectEqual('the answer to the filter words', setFilterWords, { filterWords: { words }, userErrors: [] })
    },
    /** Posts as another subgraph finds them: it knows their ids only. `like`: a post, for type and business. */
    async entities(viewer: AuditViewer, like: Post, ids: readonly string[]): Promise<Post[]> {
      const { __typename, business } = like
      return (await viewer.data<{ subjects: Post[] }>(entitiesOf(__typename), { business, ids })).subjects
    },
  }
}

function followCalls(audit: Audit) {
  async function change(viewer: AuditViewer, query: string, ids: readonly string[]): Promise<FollowResult[]> {
    audit.undoAtEnd(viewer, () => viewer.data(UNFOLLOW, { ids: ids.slice(0, FOLLOWS_MAX) }))
    type Payload = { results: FollowResult[]; userErrors: UserError[] }
    const { follow, unfollow } = await viewer.data<{ follow?: Payload; unfollow?: Payload }>(query, { ids })
    const { results, userErrors } = known('a result of following', follow ?? unfollow)
    expectEqual('the userErrors of the call', userErrors, [])
    return results
  }

  return {
    /** A viewer who follows these users. */
    async follower(...users: readonly AuditViewer[]): Promise<AuditViewer> {
      const viewer = await audit.ownViewer()
      const ids = users.map(({ id }) => id)
      expectEqual(
        'the outcomes of following',
        (await change(viewer, FOLLOW, ids)).map(({ outcome }) => outcome),
        ids.map(() => 'CHANGED'),
      )
      return viewer
    },
    follow: (viewer: AuditViewer, ids: readonly string[]) => change(viewer, FOLLOW, ids),
    unfollow: (viewer: AuditViewer, ids: readonly string[]) => change(viewer, UNFOLLOW, ids),
    async following(viewer: AuditViewer, id: string, variables: PageVariables = {}): Promise<ListPage> {
      const { feedUser } = await viewer.data<{ feedUser: { following: UserPage | null } | null }>(FOLLOWING, { id, ...variables })
      return listOf('followed users', feedUser?.following)
    },
    async followers(viewer: AuditViewer, id: string, variables: PageVariables = {}): Promise<ListPage> {
      const { feedUser } = await viewer.data<{ feedUser: { followers: UserPage | null } | null }>(FOLLOWERS, { id, ...variables })
      return listOf('followers', feedUser?.followers)
    },
    async user(viewer: AuditViewer, id: string): Promise<FeedUser> {
      return known('the user', (await viewer.data<{ feedUser: FeedUser | null }>(USER, { id })).feedUser)
    },
  }
}

const countCalls = (audit: Audit) => ({
  /** A service that may count. */
  counter: () => audit.ownViewer([SCOPE_COUNTS_WRITE]),
  async count(service: AuditViewer, events: readonly CountEvent[]): Promise<CountResult[]> {
    type Payload = { results: CountResult[]; userErrors: UserError[] }
    const { results, userErrors } = (await service.data<{ adjustCounts: Payload }>(COUNT, { events })).adjustCounts
    expectEqual('the userErrors of the call', userErrors, [])
    return results
  },
})

const PAGE_MAX = 100
const FOLLOWS_MAX = 500
const ASK_EVERY_MS = 50

export const idsOf = ({ entries }: ListPage): string[] => entries.map(({ id }) => id)

function listOf<Node>(what: string, page: NodePage<Node> | null | undefined): ListPage<Node & { cursor: string }> {
  const { edges, pageInfo } = known(`a list of ${what}`, page)
  return { entries: edges.map(({ cursor, node }) => ({ ...node, cursor })), pageInfo }
}

function known<T>(what: string, value: T | null | undefined): T {
  if (value === null || value === undefined) throw new CheckFailed(what, 'null: check that all stores run')
  return value
}

/**
 * The counts of a user right after the viewer's own follow. For a moment a follow can be part of the shared count and also be pending as the
 * viewer's own, as a like can (docs/decisions/0024-fills.md). A follower count that is one too high fails the check only if that lasts.
 */
export async function expectUser(audit: Audit, read: () => Promise<FeedUser>, what: string, expected: Partial<FeedUser>): Promise<void> {
  for (const until = performance.now() + audit.eventMaxMs; ; await wait(ASK_EVERY_MS)) {
    const seen: Partial<FeedUser> = await read()
    const among = Object.fromEntries(Object.keys(expected).map((name) => [name, seen[name as keyof FeedUser]]))
    const isOneMore = seen.followerCount === (expected.followerCount ?? Number.NaN) + 1
    if (!isOneMore || performance.now() >= until) return expectEqual(what, among, { ...expected })
  }
}
