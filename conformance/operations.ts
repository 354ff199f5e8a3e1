/** The operations of the audit. Their names let an operator recognize its requests in logs. */
import type { UserError } from './answer.ts'

/** A position as the API answers it. */
export type StoredProgress = { position: number; duration: number; viewedAt: number; device: string | null; finished: boolean }
/** A position with its subject. */
export type Progress = StoredProgress & { business: string; id: string }

export type ReportInput = {
  id: string
  position: number
  business?: string
  viewer?: string
  duration?: number
  viewedAt?: number
  device?: string
  finished?: boolean
  dayToken?: string
}

export type Payload = {
  outcome: string
  userErrors: UserError[]
  subject: Subject | null
  progress: StoredProgress | null
  dayToken: string | null
  firstOfDay: boolean
}

export type Subject = { __typename: string; id: string; business: string; viewerProgress: StoredProgress | null }
export type Edge = { cursor: string; viewedAt: number; node: Subject }
export type PageInfo = { hasNextPage: boolean; hasPreviousPage: boolean; startCursor: string | null; endCursor: string | null }
export type Connection = { edges: Edge[]; pageInfo: PageInfo }
export type Change = {
  kind: string
  business: string
  subject: Subject | null
  settings: { paused: boolean } | null
  dayToken: string | null
  token: string
}

export type HistoryVariables = { businesses?: readonly string[]; first?: number; after?: string | null }

/** The viewer's progress in the subject. */
export function progressOf({ id, business, viewerProgress }: Subject): Progress | null {
  return viewerProgress && { id, business, ...viewerProgress }
}

const USER_ERRORS = 'userErrors { code message path }'
const PROGRESS = '{ position duration viewedAt device finished }'
const SUBJECT = `{ __typename id business viewerProgress ${PROGRESS} }`
const PAYLOAD = `outcome ${USER_ERRORS} dayToken firstOfDay progress ${PROGRESS} subject ${SUBJECT}`

export const REPORT = `mutation AuditReport($input: ReportProgressInput!) { reportProgress(input: $input) { ${PAYLOAD} } }`
export const BATCH = `mutation AuditBatch($reports: [ReportProgressInput!]!) {
  reportProgressBatch(input: { reports: $reports }) { ${USER_ERRORS} results { ${PAYLOAD} } }
}`
export const LOOKUP = `query AuditLookup($business: String!, $ids: [ID!]!) { subjects(business: $business, ids: $ids) ${SUBJECT} }`
export const SETTINGS = 'query AuditSettings { historySettings { paused } }'
export const DELETE = `mutation AuditDelete($business: String!, $ids: [ID!]!) {
  deleteHistory(input: { business: $business, ids: $ids }) { deletedIds subjects ${SUBJECT} ${USER_ERRORS} }
}`
export const CLEAR = `mutation AuditClear($business: String!) {
  clearHistory(input: { business: $business }) { business clearedAt ${USER_ERRORS} }
}`
export const PAUSE = 'mutation AuditPause { updateHistorySettings(input: { paused: true }) { settings { paused } } }'
export const RESUME = 'mutation AuditResume { updateHistorySettings(input: { paused: false }) { settings { paused } } }'
export const CHANGES = `subscription AuditChanges($since: String) {
  progressChanged(since: $since) { kind business token settings { paused } dayToken subject ${SUBJECT} }
}`

export const HISTORY = `query AuditHistory($businesses: [String!], $first: Int! = 20, $after: String) {
  viewerHistory(businesses: $businesses, first: $first, after: $after) {
    edges { cursor viewedAt node ${SUBJECT} }
    pageInfo { hasNextPage hasPreviousPage startCursor endCursor }
  }
}`

export const UNSEEN = `query AuditUnseen($business: String!, $candidates: [ID!]!, $exclude: [ID!]) {
  unseen(business: $business, candidates: $candidates, exclude: $exclude) { ids droppedIssued droppedStaged droppedFiltered }
}`
export const UNSEEN_SUBJECTS = `query AuditUnseenSubjects($business: String!, $candidates: [ID!]!) {
  unseen(business: $business, candidates: $candidates) { ids subjects { __typename id business viewerSeen } }
}`
export const SEEN = 'query AuditSeen($business: String!, $ids: [ID!]!) { subjects(business: $business, ids: $ids) { id viewerSeen } }'
const RECORDED = `${USER_ERRORS} subjects { id viewerSeen }`
export const ISSUE = `mutation AuditIssue($business: String!, $ids: [ID!]!) {
  recordIssued(input: { business: $business, ids: $ids }) { recorded ${RECORDED} }
}`
export const PLAY = `mutation AuditPlay($business: String!, $ids: [ID!]!, $playedAt: Timestamp) {
  recordPlayed(input: { business: $business, ids: $ids, playedAt: $playedAt }) { recordedCount visible ${RECORDED} }
}`
export const WHY_HIDDEN = `query AuditWhyHidden($business: String!, $id: ID!, $viewer: ID!) {
  whyHidden(business: $business, id: $id, viewer: $viewer) { hidden issuedAt stagedAt filters { has } }
}`

/** The newest entry of a history, with its viewerSeen. */
export const SEEN_ENTITY = 'query AuditSeenEntity { viewerHistory(first: 1) { edges { node { id viewerSeen } } } }'

export type MarkInput = { id: string; mark: string; business?: string; viewer?: string; source?: string; markedAt?: number }
export type MarkPayload = {
  outcome: string
  userErrors: UserError[]
  oldMark: string | null
  mark: string | null
  changed: boolean | null
  state: string | null
  subject: { id: string; likeCount: number | null; dislikeCount: number | null; viewerMark: string | null } | null
}

const MARKED = `{ outcome ${USER_ERRORS} oldMark mark changed state subject { id likeCount dislikeCount viewerMark } }`

export const MARK = `mutation AuditMark($input: SetMarkInput!) { setMark(input: $input) ${MARKED} }`
export const MARK_BATCH = `mutation AuditMarkBatch($marks: [SetMarkInput!]!) {
  setMarkBatch(input: { marks: $marks }) { results ${MARKED} ${USER_ERRORS} }
}`
/** Also for anonymous callers; `STATES` needs a viewer. */
export const COUNTS = `query AuditCounts($business: String!, $ids: [ID!]!) {
  subjects(business: $business, ids: $ids) { business id likeCount dislikeCount }
}`
export const STATES = `query AuditStates($business: String!, $ids: [ID!]!) {
  subjects(business: $business, ids: $ids) { business id likeCount dislikeCount viewerMark }
}`
const PAGE = 'pageInfo { hasNextPage hasPreviousPage startCursor endCursor }'
export const LIKERS = `query AuditLikers($business: String!, $id: ID!, $first: Int! = 20, $after: String) {
  subjects(business: $business, ids: [$id]) { likers(first: $first, after: $after) { edges { cursor markedAt node { id } } ${PAGE} } }
}`
export const LIKES = `query AuditLikes($user: ID, $business: String!, $first: Int! = 20, $after: String) {
  thumbupUser(id: $user) {
    likes(business: $business, first: $first, after: $after) { edges { cursor markedAt node { id } } ${PAGE} }
  }
}`
export const RECEIVED =
  'query AuditReceived($user: ID!, $business: String!) { thumbupUser(id: $user) { likesReceived(business: $business) } }'
export const REGISTER = `mutation AuditRegister($business: String!, $subjects: [RegisterSubjectInput!]!) {
  registerSubjects(input: { business: $business, subjects: $subjects }) {
    results { registered subject { id } ${USER_ERRORS} } ${USER_ERRORS}
  }
}`
export const RECONCILE = `query AuditReconcile($business: String!, $ids: [ID!]!) {
  reconcile(business: $business, ids: $ids) { checked unchecked drift { subject { id } } ownerDrift { owner { id } } }
}`
export const COUNTS_CHANGED = `subscription AuditCountsChanged($business: String!, $ids: [ID!]!) {
  countsChanged(business: $business, ids: $ids) { subjects { business id likeCount dislikeCount } }
}`

/** The newest entry of a history, with its marks. */
export const MARKED_ENTITY = `query AuditMarkedEntity {
  viewerHistory(first: 1) { edges { node { id likeCount dislikeCount viewerMark } } }
}`
