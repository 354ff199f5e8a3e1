/** The operations of the feed's checks, and the shapes of their answers. */
import type { UserError } from './answer.ts'
import type { PageInfo } from './operations.ts'

export type PostInput = {
  clientKey?: string
  text?: string
  media?: readonly string[]
  source?: string | null
  audience?: readonly string[] | null
}

export type Post = {
  __typename: string
  id: string
  business: string
  author: { id: string } | null
  text: string | null
  media: string[] | null
  createdAt: number | null
  restricted: boolean | null
  source: { id: string; text: string | null } | null
  sourceState: string | null
  repostCount: number | null
  commentCount: number | null
  readCount: number | null
}

export type FeedUser = {
  id: string
  viewerFollows: boolean | null
  followerCount: number | null
  followingCount: number | null
  postCount: number | null
}

export type FollowResult = { outcome: string; user: { id: string; viewerFollows: boolean | null } | null; userErrors: UserError[] }
export type CountEvent = { key: string; id: string; counter: string; delta: number }
export type CountResult = { outcome: string; post: Pick<Post, 'id' | 'commentCount' | 'readCount'> | null; userErrors: UserError[] }
/** A page of a list as the API answers it. */
export type NodePage<Node> = { edges: { cursor: string; node: Node }[]; pageInfo: PageInfo }
/** A post of a list, in short. */
export type ListedPost = { id: string; text: string; createdAt: number; author: { id: string } }
export type PostEntry = ListedPost & { cursor: string }
export type PostPage = NodePage<ListedPost>
export type UserPage = NodePage<{ id: string }>
export type Waiting = { waiting: number; newest: string | null }

const ERRORS = 'userErrors { code message path }'
const POST = `{ __typename id business author { id } text media createdAt restricted source { id text } sourceState
  repostCount commentCount readCount }`
const PAGE_INFO = 'pageInfo { hasNextPage hasPreviousPage startCursor endCursor }'
const POST_PAGE = `{ edges { cursor node { id text createdAt author { id } } } ${PAGE_INFO} }`
const USER_PAGE = `{ edges { cursor node { id } } ${PAGE_INFO} }`
const FOLLOWED = `{ results { outcome user { id viewerFollows } ${ERRORS} } ${ERRORS} }`

export const PUBLISH = `mutation AuditFeedPublish($input: PublishPostInput!) {
  publishPost(input: $input) { post ${POST} repeated ${ERRORS} }
}`
export const DELETE_POST = `mutation AuditFeedDelete($id: ID!) {
  deletePost(input: { id: $id }) { post { id text } author { id postCount } ${ERRORS} }
}`
export const FOLLOW = `mutation AuditFeedFollow($ids: [ID!]!) { follow(input: { ids: $ids }) ${FOLLOWED} }`
export const UNFOLLOW = `mutation AuditFeedUnfollow($ids: [ID!]!) { unfollow(input: { ids: $ids }) ${FOLLOWED} }`
export const SET_WORDS = `mutation AuditFeedSetWords($words: [String!]!) {
  setFilterWords(input: { words: $words }) { filterWords { words } ${ERRORS} }
}`
export const WORDS = 'query AuditFeedWords { filterWords { words } }'
export const COUNT = `mutation AuditFeedCount($events: [CountEventInput!]!) {
  adjustCounts(input: { events: $events }) { results { outcome post { id commentCount readCount } ${ERRORS} } ${ERRORS} }
}`
export const HOME = `query AuditFeedHome($first: Int! = 20, $after: String) { homeFeed(first: $first, after: $after) ${POST_PAGE} }`
export const POSTS = `query AuditFeedPosts($ids: [ID!]!) { posts(ids: $ids) ${POST} }`
export const USER = `query AuditFeedUser($id: ID!) {
  feedUser(id: $id) { id viewerFollows followerCount followingCount postCount }
}`
/** Also for anonymous callers. */
export const USER_POSTS = `query AuditFeedUserPosts($id: ID!, $first: Int! = 20, $after: String) {
  feedUser(id: $id) { postCount posts(first: $first, after: $after) ${POST_PAGE} }
}`
export const FOLLOWING = `query AuditFeedFollowing($id: ID!, $first: Int! = 20, $after: String) {
  feedUser(id: $id) { following(first: $first, after: $after) ${USER_PAGE} }
}`
export const FOLLOWERS = `query AuditFeedFollowers($id: ID!, $first: Int! = 20, $after: String) {
  feedUser(id: $id) { followers(first: $first, after: $after) ${USER_PAGE} }
}`
/** Posts as entities that another subgraph returns. `entity`: the type of posts. */
export const entitiesOf = (entity: string): string => `query AuditFeedEntities($business: String!, $ids: [ID!]!) {
  subjects(business: $business, ids: $ids) { ... on ${entity} ${POST} }
}`
export const HOME_CHANGED = `subscription AuditFeedChanged($since: ID) { homeFeedChanged(since: $since) { waiting newest } }`
