/**
 * The operations that every gateway gets, in this order: a write to each subgraph, reads that join them and the partner, and the refusals
 * of guarded fields. Each gateway has a subject and a viewer of its own, because counts and histories would mix otherwise.
 */
export type Caller = 'viewer' | 'anonymous' | 'operator'

export type Operation = {
  readonly name: string
  readonly caller: Caller
  readonly query: string
}

const ID = '($id: ID!)'

/** The variable of all is `id`, the subject. */
export const OPERATIONS: readonly Operation[] = [
  {
    name: 'report',
    caller: 'viewer',
    query: `mutation ($id: ID!) { reportProgress(input: { business: "video", oid: $id, position: 600000, duration: 1800000 }) { outcome progress { position } } }`,
  },
  {
    name: 'mark',
    caller: 'viewer',
    query: `mutation ${ID} { mark(business: "video", id: $id, mark: LIKE) { outcome newMark likeCount } }`,
  },
  { name: 'played', caller: 'viewer', query: `mutation ${ID} { recordPlayed(business: "video", ids: [$id]) { recorded } }` },
  {
    name: 'entity',
    caller: 'viewer',
    query: `query ${ID} { video(id: $id) { id author { name } viewerProgress { position } viewerMark likeCount viewerSeen } }`,
  },
  {
    name: 'history',
    caller: 'viewer',
    query: `query { viewerHistory(first: 5) { edges { node { position subject { ... on Video { id author { name } likeCount viewerMark viewerSeen } } } } } }`,
  },
  { name: 'unseen', caller: 'viewer', query: `query ${ID} { unseen(business: "video", candidates: ["another", $id]) { ids } }` },
  { name: 'anonymous', caller: 'anonymous', query: `query ${ID} { video(id: $id) { author { name } likeCount viewerMark } }` },
  { name: 'no scope', caller: 'viewer', query: `query ${ID} { reconcile(business: "video", ids: [$id]) { checked } }` },
  { name: 'scope', caller: 'operator', query: `query ${ID} { reconcile(business: "video", ids: [$id]) { checked } }` },
]
