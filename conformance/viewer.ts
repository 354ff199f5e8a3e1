/**
 * A viewer of the audit, as a client. Each method sends one request and throws CheckFailed if the answer has errors.
 * `ask` returns every answer, for requests that are meant to fail.
 */
import { askGraphQL, type Answer } from './answer.ts'
import { openEvents, type Changes } from './changes.ts'
import { CheckFailed } from './outcome.ts'
import {
  BATCH,
  CHANGES,
  CLEAR,
  DELETE,
  LOOKUP,
  PAUSE,
  REPORT,
  RESUME,
  SETTINGS,
  historyQuery,
  type Connection,
  type HistoryVariables,
  type Payload,
  type Progress,
  type ReportInput,
} from './operations.ts'

export type AuditViewer = {
  id: string
  url: string
  headers: Record<string, string>
  /** The ids that this viewer reported in the audited business, to delete at the end. */
  written: Set<string>
  ask<Data>(query: string, variables?: Record<string, unknown>): Promise<Answer<Data>>
  data<Data>(query: string, variables?: Record<string, unknown>): Promise<Data>
  /** The same viewer as a client of another process. */
  at(url: string): AuditViewer
  report(input: ReportInput): Promise<Payload>
  reportBatch(inputs: readonly ReportInput[]): Promise<Payload[]>
  lookUp(oid: string, business?: string): Promise<Progress | null>
  lookUpMany(ids: readonly string[], business?: string): Promise<(Progress | null)[]>
  history(variables?: HistoryVariables): Promise<Connection>
  /** The ids of the newest hundred entries, newest first. */
  oids(): Promise<string[]>
  /** The whole history, page by page. `between` runs after each page except the last. */
  walk(first: number, between?: (page: Connection) => Promise<void>): Promise<Connection[]>
  deleteHistory(ids: readonly string[]): Promise<string[]>
  /** Resolves to the watermark. */
  clearHistory(): Promise<number>
  pause(): Promise<boolean>
  resume(): Promise<boolean>
  isPaused(): Promise<boolean>
  /** Changes from now on. With `since`, the missed changes come first. */
  openChanges(since?: string): Promise<Changes>
}

/** The default business of inputs and ids, and the type of its subjects. */
export type Ground = { business: string; entity: string | undefined }

const PAGE_FIRST = 100
/** A history with more pages than this fails the check. */
const PAGES_MAX = 200

export function makeViewer(
  url: string,
  id: string,
  headers: Record<string, string>,
  ground: Ground,
  written = new Set<string>(),
): AuditViewer {
  const { business, entity } = ground
  const historyText = historyQuery(entity)

  function ask<Data>(query: string, variables: Record<string, unknown> = {}): Promise<Answer<Data>> {
    return askGraphQL<Data>(url, headers, query, variables)
  }

  async function data<Data>(query: string, variables: Record<string, unknown> = {}): Promise<Data> {
    const answer = await ask<Data>(query, variables)
    const [error] = answer.errors
    if (error !== undefined) throw new CheckFailed('an answer without errors', `${error.extensions?.code ?? 'no code'}: ${error.message}`)
    if (answer.data === null) throw new CheckFailed('an answer with data', `status ${answer.status} and neither data nor errors`)
    return answer.data
  }

  function withBusiness(input: ReportInput): ReportInput {
    if (input.business === undefined || input.business === business) written.add(input.oid)
    return { business, ...input }
  }

  async function history(variables: HistoryVariables = {}): Promise<Connection> {
    return (await data<{ viewerHistory: Connection }>(historyText, variables)).viewerHistory
  }

  async function lookUpMany(ids: readonly string[], of = business): Promise<(Progress | null)[]> {
    return (await data<{ progress: (Progress | null)[] }>(LOOKUP, { business: of, ids })).progress
  }

  return {
    id,
    url,
    headers,
    written,
    ask,
    data,
    history,
    lookUpMany,
    at: (other) => makeViewer(other, id, headers, ground, written),
    async report(input) {
      return (await data<{ reportProgress: Payload }>(REPORT, { input: withBusiness(input) })).reportProgress
    },
    async reportBatch(inputs) {
      return (await data<{ reportProgressBatch: Payload[] }>(BATCH, { inputs: inputs.map(withBusiness) })).reportProgressBatch
    },
    lookUp: async (oid, of) => (await lookUpMany([oid], of))[0] ?? null,
    oids: async () => (await history({ first: PAGE_FIRST })).edges.map((edge) => edge.node.oid),
    async walk(first, between) {
      const pages: Connection[] = []
      for (let after: string | null = null; pages.length < PAGES_MAX;) {
        const page: Connection = await history({ first, after })
        pages.push(page)
        if (!page.pageInfo.hasNextPage) return pages
        if (page.pageInfo.endCursor === null) throw new CheckFailed('an endCursor on a page with hasNextPage', 'null')
        await between?.(page)
        after = page.pageInfo.endCursor
      }
      throw new CheckFailed(`a history that ends within ${PAGES_MAX} pages of ${first}`, 'hasNextPage: true still')
    },
    async deleteHistory(ids) {
      return (await data<{ deleteHistory: { deletedIds: string[] } }>(DELETE, { business, ids })).deleteHistory.deletedIds
    },
    async clearHistory() {
      return (await data<{ clearHistory: { clearedAt: number } }>(CLEAR, { business })).clearHistory.clearedAt
    },
    pause: async () => (await data<{ pauseHistory: { paused: boolean } }>(PAUSE)).pauseHistory.paused,
    resume: async () => (await data<{ resumeHistory: { paused: boolean } }>(RESUME)).resumeHistory.paused,
    isPaused: async () => (await data<{ historySettings: { paused: boolean } }>(SETTINGS)).historySettings.paused,
    openChanges: (since) => openEvents(url, headers, CHANGES, { since: since ?? null }, 'progressChanged'),
  }
}
