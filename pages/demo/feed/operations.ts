/** The operations of the home feed, and the types of their answers. */
import type { Subject, UserErrors } from '../operations.ts'
import { COMMUNITY } from './community.ts'

/** `author` is null if the post was deleted since. */
export type Post = Subject & {
  author: { id: string } | null
  text: string | null
  media: string[] | null
  createdAt: number | null
  restricted: boolean | null
  source: { id: string; author: { id: string } | null; text: string | null; restricted: boolean | null } | null
  sourceState: 'SHOWN' | 'DELETED' | null
  viewerSeen: string | null
}

export type User = {
  id: string
  viewerFollows: boolean | null
  followerCount: number | null
  postCount: number | null
}

export type PostPage = { edges: { node: Post | null }[]; pageInfo: { hasNextPage: boolean; endCursor: string | null } }

const USER = 'id viewerFollows followerCount postCount'
const POST = `id author { id } text media createdAt restricted sourceState source { id author { id } text restricted } repostCount likeCount viewerMark viewerSeen`
const PAGE = `edges { node { ${POST} } } pageInfo { hasNextPage endCursor }`
const ERRORS = 'userErrors { code message }'

export const HOME_FEED = `query HomeFeed($first: Int!, $after: String) { homeFeed(first: $first, after: $after) { ${PAGE} } }`
export type HomeFeed = { homeFeed: PostPage | null }

export const POSTS_OF = `query PostsOf($id: ID!, $first: Int!, $after: String) { feedUser(id: $id) { posts(first: $first, after: $after) { ${PAGE} } } }`
export type PostsOf = { feedUser: { posts: PostPage | null } | null }

export const WAITING = `subscription Waiting($since: ID) { homeFeedChanged(since: $since) { waiting } }`
export type Waiting = { homeFeedChanged: { waiting: number } | null }

export const SHOWN = `mutation Shown($ids: [ID!]!) { recordIssued(input: { business: "post", ids: $ids }) { recorded ${ERRORS} } }`
export type Shown = { recordIssued: ({ recorded: boolean } & UserErrors) | null }

/** The viewer, whom they follow, and the people of the sample. */
export const PEOPLE = `query People {
  viewer: feedUser { ${USER} following(first: 50) { edges { node { ${USER} } } } }
  filterWords { words }
  ${COMMUNITY.map(({ id }, at) => `person${at}: feedUser(id: "${id}") { ${USER} }`).join('\n  ')}
}`
export type People = {
  viewer: (User & { following: { edges: { node: User | null }[] } | null }) | null
  filterWords: { words: string[] } | null
} & Record<`person${number}`, User | null>

export const PUBLISH = `mutation Publish($input: PublishPostInput!) { publishPost(input: $input) { post { ${POST} } repeated ${ERRORS} } }`
export type Publish = { publishPost: ({ post: Post | null; repeated: boolean } & UserErrors) | null }

export const DELETE_POST = `mutation DeletePost($id: ID!) { deletePost(input: { id: $id }) { post { id } author { ${USER} } ${ERRORS} } }`
export type DeletePost = { deletePost: ({ post: { id: string } | null; author: User | null } & UserErrors) | null }

const FOLLOWED = `{ results { outcome user { ${USER} } ${ERRORS} } ${ERRORS} }`
export const FOLLOW = `mutation Follow($ids: [ID!]!) { changed: follow(input: { ids: $ids }) ${FOLLOWED} }`
export const UNFOLLOW = `mutation Unfollow($ids: [ID!]!) { changed: unfollow(input: { ids: $ids }) ${FOLLOWED} }`
export type Follow = { changed: ({ results: ({ outcome: string; user: User | null } & UserErrors)[] } & UserErrors) | null }

export const SET_WORDS = `mutation SetFilterWords($words: [String!]!) { setFilterWords(input: { words: $words }) { filterWords { words } ${ERRORS} } }`
export type SetWords = { setFilterWords: ({ filterWords: { words: string[] } | null } & UserErrors) | null }

/** Whether a viewer has a feed of their own. */
export const OWN = `query Own {
  viewer: feedUser { followingCount postCount }
  homeFeed(first: 1) { edges { cursor } }
  filterWords { words }
}`
export type Own = {
  viewer: { followingCount: number | null; postCount: number | null } | null
  homeFeed: { edges: unknown[] } | null
  filterWords: { words: string[] } | null
}
