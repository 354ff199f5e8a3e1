/** The calls of clients of the feed, as tests make them. */
import { expect } from 'vitest'
import { ask } from '../../harness/deployment/service.ts'

let viewers = 0
let keys = 0

export const ERRORS = 'userErrors { code message path }'
export const POST = `{ __typename id business author { id } text media createdAt restricted source { id text author { id } } sourceState
  repostCount commentCount readCount }`
export const PUBLISH = `mutation ($input: PublishPostInput!) { publishPost(input: $input) { post ${POST} repeated ${ERRORS} } }`
export const DELETE = `mutation ($id: ID!) { deletePost(input: {id: $id}) { post ${POST} author { id postCount } ${ERRORS} } }`
export const RESULTS = `{ results { outcome user { id viewerFollows followerCount } ${ERRORS} } ${ERRORS} }`
export const FOLLOW = `mutation ($ids: [ID!]!) { follow(input: {ids: $ids}) ${RESULTS} }`
export const UNFOLLOW = `mutation ($ids: [ID!]!) { unfollow(input: {ids: $ids}) ${RESULTS} }`
export const WORDS = `mutation ($words: [String!]!) { setFilterWords(input: {words: $words}) { filterWords { id words } ${ERRORS} } }`
export const COUNT = `mutation ($events: [CountEventInput!]!) { adjustCounts(input: {events: $events}) {
  results { outcome post { id commentCount readCount } ${ERRORS} } ${ERRORS} } }`
export const PAGE = '{ edges { cursor node { id text } } pageInfo { hasNextPage hasPreviousPage startCursor endCursor } }'
export const HOME = `query ($first: Int! = 20, $after: String) { homeFeed(first: $first, after: $after) ${PAGE} }`
export const USER_POSTS = `query ($id: ID!, $first: Int! = 20, $after: String) { feedUser(id: $id) { posts(first: $first, after: $after) ${PAGE} } }`
export const POSTS = `query ($ids: [ID!]!) { posts(ids: $ids) ${POST} }`

export type Variables = Record<string, unknown>

export const newViewer = () => `viewer-${++viewers}`
export const newKey = () => `key-${++keys}`

/** `urlOf`: the address of the API, which is known when the service has started. */
export function makeFeedClient(urlOf: () => string) {
  const data = async (viewer: string | undefined, query: string, variables: Variables = {}, headers: Record<string, string> = {}) => {
    const answer = await ask(urlOf(), viewer, query, variables, headers)
    expect(answer.errors).toBeUndefined()
    return answer.data
  }
  const codesOf = async (viewer: string | undefined, query: string, variables: Variables = {}, headers: Record<string, string> = {}) =>
    (await ask(urlOf(), viewer, query, variables, headers)).errors?.map((error) => error.extensions.code)
  const publish = async (author: string, input: Variables) =>
    (await data(author, PUBLISH, { input: { clientKey: newKey(), ...input } })).publishPost
  const published = async (author: string, input: Variables): Promise<string> => (await publish(author, input)).post.id
  const refusal = async (author: string, input: Variables) => {
    const { post, userErrors } = await publish(author, input)
    expect(post).toBeNull()
    return userErrors.map(({ code, path }: { code: string; path: string[] }) => [code, path.join('.')])
  }
  const follow = async (viewer: string, ids: string[]) => (await data(viewer, FOLLOW, { ids })).follow.results
  const home = async (viewer: string): Promise<string[]> =>
    (await data(viewer, HOME)).homeFeed.edges.map((edge: { node: { id: string } }) => edge.node.id)
  const posts = async (viewer: string | undefined, ids: string[]) => (await data(viewer, POSTS, { ids })).posts
  const follower = async (...authors: string[]): Promise<string> => {
    const viewer = newViewer()
    await follow(viewer, authors)
    return viewer
  }
  return { data, codesOf, publish, published, refusal, follow, home, posts, follower }
}
