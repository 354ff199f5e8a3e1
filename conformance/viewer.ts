/**
 * A viewer of the audit, as a client. Each method sends one request and throws CheckFailed if the answer has errors.
 * `ask` returns every answer, for requests that are meant to fail.
 */
import { askGraphQL, type Answer } from './answer.ts'
import { openEvents, type Changes } from './changes.ts'
import { CheckFailed, expectEqual } from './outcome.ts'
import {
  BATCH,
  CHANGES,
  CLEAR,
  DELETE,
  HISTORY,
  LOOKUP,
  PAUSE,
  REPORT,
  RESUME,
  SETTINGS,
  progressOf,
  type Change,
  type Connection,
  type HistoryVariables,
  type Payload,
  type Progress,
  type ReportInput,
  type Subject,
} from './operations.ts'

/** An answer to a report: its progress with the subject, and its only mistake. */
export type ReportAnswer = Pick<Payload, 'outcome' | 'subject' | 'dayToken' | 'firstOfDay'> & {
  progress: Progress | null
  code: string | null
  message: string | null
  path: readonly string[] | null
}

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
  report(input: ReportInput): Promise<ReportAnswer>
  reportBatch(inputs: readonly ReportInput[]): Promise<ReportAnswer[]>
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

const PAGE_FIRST = 100
/** A history with more pages than this fails the check. */
const PAGES_MAX = 200

/** `business`: the default of inputs and ids. */
export function makeViewer(
  url: string,
  id: string,
  headers: Record<string, string>,
  business: string,
  written = new Set<string>(),
): AuditViewer {
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
    if (input.business === undefined || input.business === business) written.add(input.id)
    return { business, ...input }
  }

  async function history(variables: HistoryVariables = {}): Promise<Connection> {
    return (await data<{ viewerHistory: Connection }>(HISTORY, variables)).viewerHistory
  }

  async function lookUpMany(ids: readonly string[], of = business): Promise<(Progress | null)[]> {
    const { subjects } = await data<{ subjects: (Subject | null)[] }>(LOOKUP, { business: of, ids })
    expectEqual(
      'the ids of the subjects',
      subjects.map((subject) => subject?.id),
      ids,
    )
    return subjects.map((subject) => subject && progressOf(subject))
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
    at: (other) => makeViewer(other, id, headers, business, written),
    async report(input) {
      return answerOf((await data<{ reportProgress: Payload }>(REPORT, { input: withBusiness(input) })).reportProgress)
    },
    async reportBatch(inputs) {
      const reports = inputs.map(withBusiness)
      return (await data<{ reportProgressBatch: { results: Payload[] } }>(BATCH, { reports })).reportProgressBatch.results.map(answerOf)
    },
    lookUp: async (oid, of) => (await lookUpMany([oid], of))[0] ?? null,
    oids: async () => (await history({ first: PAGE_FIRST })).edges.map((edge) => edge.node.id),
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
      const { deleteHistory } = await data<{ deleteHistory: { deletedIds: string[]; subjects: Subject[] } }>(DELETE, { business, ids })
      expectEqual(
        'id and viewerProgress of the deleted subjects',
        deleteHistory.subjects.map((subject) => [subject.id, subject.viewerProgress]),
        ids.map((id) => [id, null]),
      )
      return deleteHistory.deletedIds
    },
    async clearHistory() {
      return (await data<{ clearHistory: { clearedAt: number } }>(CLEAR, { business })).clearHistory.clearedAt
    },
    pause: async () => (await data<Settings>(PAUSE)).updateHistorySettings.settings.paused,
    resume: async () => (await data<Settings>(RESUME)).updateHistorySettings.settings.paused,
    isPaused: async () => (await data<{ historySettings: { paused: boolean } }>(SETTINGS)).historySettings.paused,
    openChanges: (since) => openEvents<Change>(url, headers, CHANGES, { since: since ?? null }, 'progressChanged'),
  }
}

type Settings = { updateHistorySettings: { settings: { paused: boolean } } }

function answerOf({ userErrors: [mistake], progress, ...payload }: Payload): ReportAnswer {
  const { id = '', business = '' } = payload.subject ?? {}
  return {
    ...payload,
    progress: progress && { id, business, ...progress },
    code: mistake?.code ?? null,
    message: mistake?.message ?? null,
    path: mistake?.path ?? null,
  }
}
