/** The operations of the video site, and the types of their answers. */
import { CARD, PROGRESS, type Subject, type UserErrors } from '../operations.ts'

export const NEXT = `query Next($candidates: [ID!]!) { unseen(business: "video", candidates: $candidates) { ids droppedIssued droppedStaged droppedFiltered } }`
export type Next = { unseen: { ids: string[]; droppedIssued: number; droppedStaged: number; droppedFiltered: number } | null }

export const SERVED = `mutation Served($ids: [ID!]!) { recordIssued(input: { business: "video", ids: $ids }) { recorded subjects { ${CARD} } userErrors { code message } } }`
export type Served = { recordIssued: ({ recorded: boolean; subjects: Subject[] } & UserErrors) | null }

export const REPORTS = `mutation Reports($reports: [ReportProgressInput!]!) {
  reportProgressBatch(input: { reports: $reports }) { results { outcome } userErrors { code message } }
}`
export type Reports = { reportProgressBatch: ({ results: { outcome: string }[] } & UserErrors) | null }

export const HISTORY = `query History($after: String) {
  viewerHistory(businesses: ["video"], first: 12, after: $after) {
    edges { node { ${CARD} } }
    pageInfo { hasNextPage endCursor }
  }
  historySettings { paused }
}`
export type History = {
  viewerHistory: { edges: { node: Subject | null }[]; pageInfo: { hasNextPage: boolean; endCursor: string | null } } | null
  historySettings: { paused: boolean } | null
}

export const DELETE = `mutation Delete($ids: [ID!]!) {
  deleteHistory(input: { business: "video", ids: $ids }) { subjects { id ${PROGRESS} } userErrors { code message } }
}`
export type Delete = { deleteHistory: ({ subjects: Subject[] } & UserErrors) | null }

export const CLEAR = `mutation Clear { clearHistory(input: { business: "video" }) { clearedAt userErrors { code message } } }`
export type Clear = { clearHistory: ({ clearedAt: number | null } & UserErrors) | null }

export const PAUSE = `mutation Pause($paused: Boolean!) { updateHistorySettings(input: { paused: $paused }) { settings { paused } userErrors { code message } } }`
export type Pause = { updateHistorySettings: ({ settings: { paused: boolean } | null } & UserErrors) | null }

export const CHANGES = `subscription Changes($since: String) {
  progressChanged(since: $since) { kind token subject { id ${PROGRESS} } }
}`
export type Changes = { progressChanged: { kind: 'REPORTED' | 'DELETED' | 'CLEARED'; token: string; subject: Subject | null } | null }
