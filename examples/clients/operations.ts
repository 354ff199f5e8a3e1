/**
 * The operations of the Apollo and urql examples. They select `id` of every object that has one, so that the caches can identify it. A
 * mutation selects the fields that the page shows: a cache cannot show a field that no answer had.
 */

const PROGRESS = 'viewerProgress { id position finished }'
const CARD = `id business likeCount viewerMark ${PROGRESS}`

export const PAGE = `query Page($ids: [ID!]!) {
  videos: subjects(business: "video", ids: $ids) { ${CARD} }
  articles: subjects(business: "article", ids: $ids) { ${CARD} }
}`

export const LIKE = `mutation Like($business: String!, $id: ID!) {
  setMark(input: { business: $business, id: $id, mark: LIKE }) {
    outcome
    userErrors { code message }
    subject { id likeCount viewerMark }
  }
}`

export const REPORT = `mutation Report($business: String!, $id: ID!, $position: Float!) {
  reportProgress(input: { business: $business, id: $id, position: $position, duration: 600000 }) {
    outcome
    userErrors { code message }
    subject { id ${PROGRESS} }
  }
}`

export const REMOVE = `mutation Remove($business: String!, $ids: [ID!]!) {
  deleteHistory(input: { business: $business, ids: $ids }) {
    userErrors { code message }
    subjects { id ${PROGRESS} }
  }
}`

export const FOLLOW = `subscription Follow {
  progressChanged { kind token subject { id ${PROGRESS} } }
}`

export const HISTORY = `query History($after: String) {
  viewerHistory(first: 2, after: $after) {
    edges { cursor node { id business ${PROGRESS} } }
    pageInfo { hasNextPage endCursor }
  }
}`

export const CLEAR = `mutation Clear($business: String!) {
  clearHistory(input: { business: $business }) {
    business
    userErrors { code message }
  }
}`

/** A fragment on the interface serves the entities of all businesses. */
export const CARDS = `query Cards($ids: [ID!]!) {
  subjects(business: "video", ids: $ids) { ...Card }
}
fragment Card on Subject { ${CARD} }`

/** One field fails, and the other has its answer. */
export const PARTLY = `query Partly($ids: [ID!]!) {
  subjects(business: "video", ids: $ids) { id business }
  viewerHistory(first: 0) { edges { cursor } }
}`
