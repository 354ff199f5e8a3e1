/** Watch history from the view of a client: the real command, over HTTP. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ask, makeServiceFolder, startService, type Service } from '../../harness/deployment/service.ts'

const { folder, remove } = makeServiceFolder()
let service: Service
let viewers = 0

beforeAll(async () => {
  service = await startService({
    folder,
    settings: { history: { timelineCap: 10, flushAgeMaxMs: 100, sweepAfterMs: 1_000, sweepEveryMs: 200 } },
  })
})
afterAll(async () => {
  expect(await service.stop()).toBe(0)
  remove()
})

const newViewer = () => `viewer-${++viewers}`
const PROGRESS = '{ position duration viewedAt device finished }'
const SUBJECT = `{ __typename id business viewerProgress ${PROGRESS} }`
const ERRORS = 'userErrors { code message path }'
const REPORT = `mutation ($input: ReportProgressInput!) { reportProgress(input: $input) {
  outcome ${ERRORS} dayToken firstOfDay clearedAt subject ${SUBJECT} progress ${PROGRESS} } }`
const BATCH = `mutation ($input: ReportProgressBatchInput!) { reportProgressBatch(input: $input) {
  results { outcome ${ERRORS} subject { id viewerProgress { position } } progress { position } } ${ERRORS} } }`
const LOOKUP = 'query ($ids: [ID!]!) { subjects(business: "video", ids: $ids) { id viewerProgress { position } } }'
const DELETE = `mutation ($ids: [ID!]!, $business: String! = "video") { deleteHistory(input: {business: $business, ids: $ids}) {
  deletedIds subjects ${SUBJECT} ${ERRORS} } }`
const CLEAR = `mutation ($business: String! = "video") { clearHistory(input: {business: $business}) { business clearedAt ${ERRORS} } }`
const PAUSE = `mutation ($paused: Boolean!) { updateHistorySettings(input: {paused: $paused}) { settings { id paused } ${ERRORS} } }`
const HISTORY = `query ($businesses: [String!], $first: Int! = 20, $after: String) { viewerHistory(businesses: $businesses, first: $first, after: $after) {
  edges { cursor viewedAt node ${SUBJECT} }
  pageInfo { hasNextPage hasPreviousPage startCursor endCursor } } }`
const NOW = Date.now()

const video = (id: string, position: number, viewedAt: number, more: Record<string, unknown> = {}) => ({
  business: 'video',
  id,
  position,
  viewedAt,
  ...more,
})
const report = async (viewer: string, input: Record<string, unknown>) =>
  (await ask(service.url, viewer, REPORT, { input })).data.reportProgress
const history = async (viewer: string, variables: Record<string, unknown> = {}) =>
  (await ask(service.url, viewer, HISTORY, variables)).data.viewerHistory
const ids = async (viewer: string) => (await history(viewer)).edges.map((edge: { node: { id: string } }) => edge.node.id)
const codesOf = async (
  viewer: string | undefined,
  query: string,
  variables: Record<string, unknown> = {},
  headers: Record<string, string> = {},
) => (await ask(service.url, viewer, query, variables, headers)).errors?.map((error) => error.extensions.code)

describe('reporting', () => {
  test('an acknowledged report is in every read at once', async () => {
    const viewer = newViewer()
    const answer = await report(viewer, video('42', 600_000, NOW, { duration: 1_800_000, device: 'tv' }))
    const stored = { position: 600_000, duration: 1_800_000, viewedAt: NOW, device: 'tv', finished: false }
    const subject = { __typename: 'Video', id: '42', business: 'video', viewerProgress: stored }
    expect(answer).toMatchObject({ outcome: 'ACCEPTED', userErrors: [], firstOfDay: true, subject, progress: stored })
    const { edges, pageInfo } = await history(viewer)
    expect(edges).toEqual([{ cursor: expect.any(String), viewedAt: NOW, node: subject }])
    expect(pageInfo).toEqual({ hasNextPage: false, hasPreviousPage: false, startCursor: edges[0].cursor, endCursor: edges[0].cursor })
  })

  test('an older report is stale and returns the stored record', async () => {
    const viewer = newViewer()
    await report(viewer, video('1', 50_000, NOW))
    expect(await report(viewer, video('1', 90_000, NOW - 1))).toMatchObject({
      outcome: 'STALE',
      progress: { position: 50_000, viewedAt: NOW },
    })
  })

  test('an equal viewedAt keeps the later arrival', async () => {
    const viewer = newViewer()
    await report(viewer, video('1', 50_000, NOW))
    expect(await report(viewer, video('1', 60_000, NOW))).toMatchObject({ outcome: 'ACCEPTED', progress: { position: 60_000 } })
  })

  test('a glance moves a subject up the history and keeps its resume point', async () => {
    const viewer = newViewer()
    await report(viewer, video('1', 600_000, NOW - 3_000))
    await report(viewer, video('2', 600_000, NOW - 2_000))
    expect(await report(viewer, video('1', 0, NOW - 1_000))).toMatchObject({
      outcome: 'ACCEPTED',
      progress: { position: 600_000, viewedAt: NOW - 1_000 },
    })
    expect(await ids(viewer)).toEqual(['1', '2'])
  })

  test('from 95% of the duration on a subject is finished, and an older partial report does not undo it', async () => {
    const viewer = newViewer()
    expect(await report(viewer, video('1', 950, NOW, { duration: 1_000 }))).toMatchObject({ progress: { finished: true } })
    expect(await report(viewer, video('1', 500, NOW - 1, { duration: 1_000 }))).toMatchObject({
      outcome: 'STALE',
      progress: { finished: true },
    })
  })

  test('the day token skips the check for the first view of the day, for its viewer and business only', async () => {
    const viewer = newViewer()
    const first = await report(viewer, video('1', 10_000, NOW))
    expect(first.firstOfDay).toBe(true)
    expect((await report(viewer, video('2', 10_000, NOW))).firstOfDay).toBe(false)
    const other = newViewer()
    expect((await report(other, video('1', 10_000, NOW, { dayToken: first.dayToken }))).firstOfDay).toBe(true)
    const third = newViewer()
    const token = (await report(third, { business: 'comic', id: '1', position: 3 })).dayToken
    expect((await report(third, { business: 'comic', id: '2', position: 3, dayToken: token })).firstOfDay).toBe(false)
    expect((await report(third, video('1', 10_000, NOW, { dayToken: token }))).firstOfDay).toBe(true)
  })

  test('a stale report gets no day token, because it claims no day', async () => {
    const viewer = newViewer()
    await ask(service.url, viewer, CLEAR)
    const stale = await report(viewer, video('1', 10_000, NOW - 1_000))
    expect(stale).toMatchObject({ outcome: 'STALE', dayToken: null, firstOfDay: false })
    expect(await report(viewer, video('1', 10_000, Date.now() + 1_000))).toMatchObject({ outcome: 'ACCEPTED', firstOfDay: true })
  })

  test('position 0 keeps the resume point, even if no other position is a glance', async () => {
    const viewer = newViewer()
    await report(viewer, { business: 'comic', id: '1', position: 80, viewedAt: NOW - 1_000 })
    expect(await report(viewer, { business: 'comic', id: '1', position: 0, viewedAt: NOW })).toMatchObject({
      outcome: 'ACCEPTED',
      progress: { position: 80, viewedAt: NOW },
    })
  })

  test('every input of a batch is answered separately, and the valid ones count', async () => {
    const viewer = newViewer()
    const reports = [
      video('1', 10_000, NOW),
      { business: 'vidoe', id: '1', position: 1 },
      video('', 1, NOW),
      video('x'.repeat(65), 1, NOW),
      video('2', -1, NOW),
      video('4', 10_000, NOW + 6 * 60_000),
      video('2', 1, -5),
      { ...video('2', 1, NOW), viewedAt: 'yesterday' },
      video('2', 3_000_000_000, NOW),
      video('2', 1.5, NOW),
      video('2', 1, NOW, { device: 'd'.repeat(65) }),
      video('3', 20_000, NOW),
    ]
    const { results, userErrors } = (await ask(service.url, viewer, BATCH, { input: { reports } })).data.reportProgressBatch as {
      results: { outcome: string; userErrors: { code: string; message: string; path: string[] }[]; subject: { id: string } | null }[]
      userErrors: unknown[]
    }
    expect(userErrors).toEqual([])
    expect(results.map((result) => result.userErrors[0]?.code ?? result.outcome)).toEqual([
      'ACCEPTED',
      'BUSINESS_UNKNOWN',
      'ID_INVALID',
      'ID_INVALID',
      'POSITION_INVALID',
      'ACCEPTED',
      'VIEWED_AT_INVALID',
      'VIEWED_AT_INVALID',
      'POSITION_INVALID',
      'POSITION_INVALID',
      'DEVICE_INVALID',
      'ACCEPTED',
    ])
    expect(results.map((result) => result.userErrors[0]?.path.join('.') ?? result.subject?.id)).toEqual([
      '1',
      'input.reports.1.business',
      'input.reports.2.id',
      'input.reports.3.id',
      'input.reports.4.position',
      '4',
      'input.reports.6.viewedAt',
      'input.reports.7.viewedAt',
      'input.reports.8.position',
      'input.reports.9.position',
      'input.reports.10.device',
      '3',
    ])
    for (const { outcome, userErrors: mistakes, subject } of results) {
      for (const { message } of mistakes) expect(message).toMatch(/: \w/)
      expect([mistakes.length, subject === null]).toEqual(outcome === 'REJECTED' ? [1, true] : [0, false])
    }
    expect((await ids(viewer)).sort()).toEqual(['1', '3', '4'])
  })

  test('501 inputs are refused as a whole', async () => {
    const viewer = newViewer()
    const reports = Array.from({ length: 501 }, (_, index) => video(String(index), 10_000, NOW))
    const { data, errors } = await ask(service.url, viewer, BATCH, { input: { reports } })
    expect(errors).toBeUndefined()
    const message = '501 reports are too many: send at most 500 per batch'
    const userErrors = [{ code: 'INPUTS_TOO_MANY', message, path: ['input', 'reports'] }]
    expect(data.reportProgressBatch).toEqual({ results: [], userErrors })
    expect(await ids(viewer)).toEqual([])
  })

  test('reporting progress of another viewer needs the scope', async () => {
    const viewer = newViewer()
    const other = newViewer()
    const input = video('1', 10_000, NOW, { viewer: other })
    const forbidden = { outcome: 'REJECTED', userErrors: [{ code: 'FORBIDDEN', path: ['input', 'viewer'] }], subject: null, progress: null }
    expect(await report(viewer, input)).toMatchObject(forbidden)
    const wrongScope = await ask(service.url, viewer, REPORT, { input }, { 'x-viewer-scopes': 'progress:read' })
    expect(wrongScope.data.reportProgress).toMatchObject(forbidden)
    const scoped = await ask(service.url, viewer, REPORT, { input }, { 'x-viewer-scopes': 'progress:write-any' })
    // The subject is shown as the caller sees it, and the caller has no progress in it.
    expect(scoped.data.reportProgress).toMatchObject({
      outcome: 'ACCEPTED',
      progress: { position: 10_000 },
      subject: { id: '1', viewerProgress: null },
    })
    expect(await ids(viewer)).toEqual([])
    expect(await ids(other)).toEqual(['1'])
  })
})

describe('reading', () => {
  test('pages join without gaps or duplicates, beyond the hot timeline', async () => {
    const viewer = newViewer()
    const reports = Array.from({ length: 60 }, (_, index) => video(String(index), 10_000, NOW - 100_000 + index))
    await ask(service.url, viewer, BATCH, { input: { reports } })
    // The cap is 10. Once the rest is persisted, later reports trim it from the hot store.
    await new Promise((resolve) => setTimeout(resolve, 1_500))
    await report(viewer, video('60', 10_000, NOW))
    const seen: string[] = []
    let after: string | null = null
    do {
      const page = await history(viewer, { first: 7, after })
      seen.push(...page.edges.map((edge: { node: { id: string } }) => edge.node.id))
      after = page.pageInfo.hasNextPage ? page.pageInfo.endCursor : null
    } while (after !== null)
    expect(seen).toEqual(Array.from({ length: 61 }, (_, index) => String(60 - index)))
    const { data } = await ask(service.url, viewer, LOOKUP, { ids: ['3', 'never', '60'] })
    expect(data.subjects).toEqual([
      { id: '3', viewerProgress: { position: 10_000 } },
      { id: 'never', viewerProgress: null },
      { id: '60', viewerProgress: { position: 10_000 } },
    ])
  })

  test('a filter by businesses narrows the history, and equal ids of two businesses are two subjects', async () => {
    const viewer = newViewer()
    await report(viewer, video('1', 10_000, NOW - 1))
    await report(viewer, { business: 'comic', id: '1', position: 3, viewedAt: NOW })
    expect((await history(viewer)).edges.map((edge: { node: { business: string } }) => edge.node.business)).toEqual(['comic', 'video'])
    expect((await history(viewer, { businesses: ['video'] })).edges).toHaveLength(1)
    expect((await history(viewer, { businesses: [] })).edges).toHaveLength(0)
  })

  test.each([
    ['an unknown business', HISTORY, { businesses: ['vidoe'] }, 'BUSINESS_UNKNOWN'],
    ['first 0', HISTORY, { first: 0 }, 'FIRST_INVALID'],
    ['first null', 'query ($first: Int) { viewerHistory(first: $first) { edges { cursor } } }', { first: null }, 'SUBGRAPH_ERROR'],
    ['first 101', HISTORY, { first: 101 }, 'FIRST_INVALID'],
    ['a broken cursor', HISTORY, { after: 'nonsense' }, 'CURSOR_INVALID'],
    ['201 ids', LOOKUP, { ids: Array.from({ length: 201 }, String) }, 'IDS_TOO_MANY'],
  ])('%s is refused with its code', async (_, query, variables, code) => {
    const { data, errors } = await ask(service.url, newViewer(), query, variables)
    expect(errors?.map(({ extensions }) => extensions.code)).toEqual([code])
    expect(Object.values(data as object)).toEqual([null])
  })

  test('an empty id is null at its place, and the other subjects are there', async () => {
    const viewer = newViewer()
    await report(viewer, video('1', 10_000, NOW))
    const { data, errors } = await ask(service.url, viewer, LOOKUP, { ids: ['', '1'] })
    expect(data.subjects).toEqual([null, { id: '1', viewerProgress: { position: 10_000 } }])
    expect(errors).toMatchObject([{ path: ['subjects', 0], extensions: { code: 'ID_INVALID' } }])
  })

  test('a cursor of another list is refused', async () => {
    const viewer = newViewer()
    await report(viewer, { business: 'comic', id: '1', position: 3 })
    const { pageInfo } = await history(viewer)
    expect(await codesOf(viewer, HISTORY, { businesses: ['video'], after: pageInfo.endCursor })).toEqual(['CURSOR_INVALID'])
  })

  test('an anonymous caller can neither read nor write', async () => {
    expect(await codesOf(undefined, HISTORY)).toEqual(['UNAUTHENTICATED'])
    expect(await codesOf(undefined, REPORT, { input: video('1', 1, NOW) })).toEqual(['UNAUTHENTICATED'])
  })
})

describe('deleting, clearing and pausing', () => {
  test('a deleted subject is gone, and only a later view brings it back', async () => {
    const viewer = newViewer()
    await report(viewer, video('1', 10_000, NOW - 1_000))
    await report(viewer, video('2', 10_000, NOW - 900))
    const { data } = await ask(service.url, viewer, DELETE, { ids: ['1', '9'] })
    const gone = ['1', '9'].map((id) => ({ __typename: 'Video', id, business: 'video', viewerProgress: null }))
    expect(data.deleteHistory).toEqual({ deletedIds: ['1'], subjects: gone, userErrors: [] })
    expect(await ids(viewer)).toEqual(['2'])
    expect(await report(viewer, video('1', 20_000, NOW - 500))).toMatchObject({
      outcome: 'STALE',
      progress: null,
      clearedAt: expect.any(Number),
      subject: { viewerProgress: null },
    })
    expect(await ids(viewer)).toEqual(['2'])
    expect(await report(viewer, video('1', 20_000, Date.now() + 1_000))).toMatchObject({ outcome: 'ACCEPTED' })
    expect(await ids(viewer)).toEqual(['1', '2'])
  })

  test('clearing empties one business at once, and late reports do not come back', async () => {
    const viewer = newViewer()
    await report(viewer, video('1', 10_000, NOW - 1_000))
    await report(viewer, { business: 'comic', id: '1', position: 3, viewedAt: NOW - 1_000 })
    const { data } = await ask(service.url, viewer, CLEAR)
    expect(data.clearHistory).toMatchObject({ business: 'video', userErrors: [] })
    expect(data.clearHistory.clearedAt).toBeGreaterThanOrEqual(NOW - 1_000)
    expect((await history(viewer)).edges.map((edge: { node: { business: string } }) => edge.node.business)).toEqual(['comic'])
    expect(await report(viewer, video('7', 10_000, NOW - 500))).toMatchObject({ outcome: 'STALE' })
  })

  test('while history is paused reports are dropped, and deleting still works', async () => {
    const viewer = newViewer()
    await report(viewer, video('1', 10_000, NOW))
    const { settings, userErrors } = (await ask(service.url, viewer, PAUSE, { paused: true })).data.updateHistorySettings
    expect([settings.paused, userErrors]).toEqual([true, []])
    expect((await ask(service.url, viewer, '{ historySettings { id paused } }')).data.historySettings).toEqual(settings)
    expect(await report(viewer, video('1', 90_000, NOW + 1))).toMatchObject({
      outcome: 'PAUSED',
      progress: null,
      subject: { id: '1', viewerProgress: { position: 10_000 } },
    })
    expect(await report(viewer, video('2', 10_000, NOW))).toMatchObject({
      outcome: 'PAUSED',
      progress: null,
      subject: { viewerProgress: null },
    })
    await ask(service.url, viewer, DELETE, { ids: ['1'] })
    expect(await ids(viewer)).toEqual([])
    expect((await ask(service.url, viewer, PAUSE, { paused: false })).data.updateHistorySettings.settings).toEqual({
      ...settings,
      paused: false,
    })
    expect(await report(viewer, video('2', 10_000, NOW + 1))).toMatchObject({ outcome: 'ACCEPTED' })
  })

  test.each([
    ['a deletion in an unknown business', DELETE, { business: 'vidoe', ids: ['1'] }, 'BUSINESS_UNKNOWN', ['input', 'business']],
    ['a deletion of 201 ids', DELETE, { ids: Array.from({ length: 201 }, String) }, 'IDS_TOO_MANY', ['input', 'ids']],
    ['a deletion of an empty id', DELETE, { ids: ['1', ''] }, 'ID_INVALID', ['input', 'ids', '1']],
    ['a clearing of an unknown business', CLEAR, { business: 'vidoe' }, 'BUSINESS_UNKNOWN', ['input', 'business']],
  ])('%s is refused as data, and nothing is removed', async (_, query, variables, code, path) => {
    const viewer = newViewer()
    await report(viewer, video('1', 10_000, NOW))
    const { data, errors } = await ask(service.url, viewer, query, variables)
    expect(errors).toBeUndefined()
    const [{ userErrors, ...payload }] = Object.values(data) as [{ userErrors: unknown[] }]
    expect(userErrors).toEqual([{ code, message: expect.stringMatching(/: \w/), path }])
    expect(payload).toEqual(query === DELETE ? { deletedIds: [], subjects: [] } : { business: null, clearedAt: null })
    expect(await ids(viewer)).toEqual(['1'])
  })
})
