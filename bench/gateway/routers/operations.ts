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
    query: `mutation ${ID} {
      reportProgress(input: { business: "video", id: $id, position: 600000, duration: 1800000 }) {
        outcome userErrors { code path } subject { id viewerProgress { position } ... on Video { author { name } } }
      }
    }`,
  },
  {
    name: 'mark',
    caller: 'viewer',
    query: `mutation ${ID} {
      setMark(input: { business: "video", id: $id, mark: LIKE }) { outcome mark subject { id viewerMark likeCount viewerProgress { position } } }
    }`,
  },
  {
    name: 'played',
    caller: 'viewer',
    query: `mutation ${ID} { recordPlayed(input: { business: "video", ids: [$id] }) { recordedCount subjects { id viewerSeen likeCount } } }`,
  },
  {
    name: 'publish',
    caller: 'viewer',
    query: `mutation {
      publishPost(input: { clientKey: "one", text: "Hello" }) { post { text restricted likeCount viewerMark viewerSeen author { name postCount } } repeated userErrors { code path } }
    }`,
  },
  {
    name: 'mistake',
    caller: 'viewer',
    query: `mutation ${ID} { setMark(input: { business: "none", id: $id, mark: LIKE }) { outcome userErrors { code path } subject { id } } }`,
  },
  {
    name: 'entity',
    caller: 'viewer',
    query: `query ${ID} { video(id: $id) { id author { name } viewerProgress { position } viewerMark likeCount viewerSeen } }`,
  },
  {
    name: 'subjects',
    caller: 'viewer',
    query: `query ${ID} {
      subjects(business: "video", ids: [$id, "another"]) { id viewerProgress { position } viewerMark likeCount viewerSeen ... on Video { author { name } } }
    }`,
  },
  {
    name: 'history',
    caller: 'viewer',
    query: `query {
      viewerHistory(first: 5) { edges { node { id viewerProgress { position } likeCount viewerMark viewerSeen ... on Video { author { name } } } } }
    }`,
  },
  {
    name: 'unseen',
    caller: 'viewer',
    query: `query ${ID} { unseen(business: "video", candidates: ["another", $id]) { ids subjects { id likeCount } } }`,
  },
  {
    name: 'posts',
    caller: 'viewer',
    query: `query {
      feedUser { postCount posts(first: 5) { edges { node { text likeCount viewerMark viewerSeen author { name followerCount } } } } }
      homeFeed(first: 5) { edges { node { text } } }
    }`,
  },
  { name: 'anonymous', caller: 'anonymous', query: `query ${ID} { video(id: $id) { author { name } likeCount viewerMark } }` },
  { name: 'no scope', caller: 'viewer', query: `query ${ID} { reconcile(business: "video", ids: [$id]) { checked } }` },
  { name: 'scope', caller: 'operator', query: `query ${ID} { reconcile(business: "video", ids: [$id]) { checked } }` },
]
