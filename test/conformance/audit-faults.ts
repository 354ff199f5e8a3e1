/** For every check of the audit, ways to break its promise. */
import {
  accepted,
  answeringAt,
  asking,
  changing,
  halfDoing,
  inSecond,
  dropping,
  losing,
  pretending,
  refusing,
  reporting,
  watched,
  type PlannedFault,
} from './fault-kinds.ts'
import { EXISTENCE_FAULTS } from './audit-existence-faults.ts'
import { FEED_FAULTS } from './audit-feed-faults.ts'
import { MARK_FAULTS } from './audit-mark-faults.ts'
import { olderLookup, SUBSCRIPTION_FAULTS } from './audit-subscription-faults.ts'
import { everybodyIsOne, everybodyIsSomebody } from './fault-viewers.ts'
import { askedWith, told, type Asked } from './faulty-proxy.ts'

const HOUR = 3_600_000
const REAL_POSITION = 600_000

const wrongCode = refusing('refuses with another code', { code: 'INTERNAL' })
const noSentence = refusing('refuses without a sentence', { message: 'Invalid' })
const withoutFirst = changing('lists all but the newest', /AuditHistory/, (data) => void data.viewerHistory.edges.shift())
const olderPage = changing('lists older positions', /AuditHistory/, (data) => {
  for (const { node } of data.viewerHistory.edges) node.viewerProgress.position -= 1
})
const skipping = changing('skips an entry between pages', /AuditHistory/, (data, asked) => {
  if (asked.variables.after) data.viewerHistory.edges.shift()
})
const repeating = changing('repeats an entry on the next page', /AuditHistory/, (data, asked) => {
  const { edges } = data.viewerHistory
  if (asked.variables.after && edges.length > 0) edges.push(edges[0])
})
const byArrival = reporting('takes the later arrival for the newer view', (input) => ({ ...input, viewedAt: Date.now() }))
const datedBack = reporting('dates reports back', (input) => ({ ...input, viewedAt: Date.now() - HOUR }))
const lateAsNow = reporting('takes late reports for new ones', (input) => ({ ...input, viewedAt: undefined }))
const deletedAnswer = ({ variables }: Asked, deletedIds: string[]) => ({
  ...{ deletedIds, userErrors: [] },
  subjects: variables.ids.map((id: string) => ({ ...watched({ id }), viewerProgress: null })),
})
const fakeDelete = pretending('pretends to delete', /AuditDelete/, (asked) => ({
  deleteHistory: deletedAnswer(
    asked,
    asked.variables.ids.filter((id: string) => id !== 'never'),
  ),
}))
const fakeClear = pretending('pretends to clear', /AuditClear\b/, (asked) => ({
  clearHistory: { business: asked.variables.business, clearedAt: Date.now(), userErrors: [] },
}))
const pausedAnswer = (paused: boolean) => ({ updateHistorySettings: { settings: { paused } } })
const fakePause = pretending('pretends to pause', /AuditPause/, () => pausedAnswer(true))
const fakeReport = pretending('acknowledges reports and loses them', /AuditReport/, ({ variables: { input } }) => ({
  reportProgress: accepted(input),
}))
const fakeBatch = pretending('acknowledges batches and loses them', /AuditBatch/, ({ variables: { reports } }) => ({
  reportProgressBatch: { results: reports.map(accepted), userErrors: [] },
}))

const BAD_REPORTS = [
  ...['business-unknown', 'id-empty', 'id-long', 'id-broken', 'position-negative', 'duration-negative'],
  ...['time-negative', 'device-long'],
]
/** Corrects the invalid input and stores it, although it was rejected. */
const halfWritten = halfDoing('stores rejected inputs', /AuditReport/, (asked) =>
  askedWith(asked, { variables: { input: { business: 'video', id: '1', position: REAL_POSITION + 9 } } }),
)

const BAD_QUERIES = [
  ...['first-0', 'first-101', 'first-negative', 'cursor-broken', 'cursor-cut', 'cursor-of-another-list', 'history-business-unknown'],
  ...['lookup-business-unknown', 'lookup-201-ids', 'json-broken'],
  ...['query-missing', 'body-as-text', 'graphql-broken', 'field-unknown', 'operation-unknown', 'variable-missing', 'query-too-deep'],
]
const answersAll = pretending('answers requests it should refuse', /^/, () => ({ subjects: [] }))
const oneReport = (asked: Asked): Asked => ({
  ...askedWith(asked, {
    query: 'mutation ($input: ReportProgressInput!) { reportProgress(input: $input) { outcome } }',
    variables: { input: { business: 'video', id: '1', position: REAL_POSITION } },
    headers: { ...asked.headers, 'content-type': 'application/json' },
  }),
  method: 'POST',
  path: '/graphql',
})

/** By the id of the check that must detect the fault. */
export const FAULTS: Record<string, readonly PlannedFault[]> = {
  'write-then-lookup': [
    olderLookup,
    fakeReport,
    losing('loses one report of many', (input) => input.position === REAL_POSITION + 7),
    changing('forgets the device', /AuditLookup/, (data) => data.subjects.forEach((each: any) => (each.viewerProgress.device = null))),
  ],
  'write-then-page': [withoutFirst, olderPage, fakeReport],
  'write-then-entity': [
    changing('returns the subject as before', /AuditReport/, (data) => (data.reportProgress.subject.viewerProgress = null)),
    changing('returns another subject', /AuditReport/, (data) => (data.reportProgress.subject.id = 'other')),
    changing('returns no subject in a batch', /AuditBatch/, (data) => (data.reportProgressBatch.results[0].subject = null)),
  ],
  'write-then-second-lookup': [inSecond(olderLookup), inSecond(fakeReport)],
  'write-then-second-page': [inSecond(withoutFirst), inSecond(fakeReport)],
  'answer-is-stored': [changing('answers without the device', /AuditReport/, (data) => (data.reportProgress.progress.device = null))],
  'report-defaults': [datedBack],
  'batch-in-order': [changing('answers in another order', /AuditBatch/, (data) => data.reportProgressBatch.results.reverse()), fakeBatch],
  'batch-500': [
    asking('takes 499', /AuditBatch/, (asked) => askedWith(asked, { variables: { reports: asked.variables.reports.slice(1) } })),
  ],
  'ids-as-sent': [reporting('reads ids as numbers', (input) => ({ ...input, id: input.id === '007' ? '7' : input.id }))],
  'ids-of-two-businesses': [reporting('knows one business', (input) => ({ ...input, business: 'video' }))],
  'finished-at-the-end': [
    reporting('believes every finished', (input) => ({ ...input, finished: true })),
    reporting('believes no finished', (input) => ({ ...input, finished: undefined })),
  ],
  'first-of-day-once': [
    changing('tells the first of the day each time', /AuditReport/, (data) => (data.reportProgress.firstOfDay = true)),
    changing('never tells it', /AuditReport/, (data) => (data.reportProgress.firstOfDay = false)),
  ],
  'last-write-wins': [byArrival, losing('keeps the first arrival', () => true)],
  'last-write-wins-in-batch': [
    byArrival,
    asking('goes through batches from behind', /AuditBatch/, (asked) =>
      askedWith(asked, { variables: { reports: [...new Map(asked.variables.reports.map((input: any) => [input.id, input])).values()] } }),
    ),
  ],
  'last-write-wins-at-once': [dropping('loses the newest of many', (input) => input.position >= REAL_POSITION + 39), fakeReport],
  'last-write-wins-across-processes': [inSecond(fakeReport), inSecond(olderLookup)],
  'repeats-change-nothing': [
    asking('counts repetitions', /AuditBatch/, (asked) =>
      askedWith(asked, {
        variables: { reports: asked.variables.reports.map((input: any) => ({ ...input, position: input.position + 1 })) },
      }),
    ),
  ],
  'equal-times-later-arrival': [
    losing('keeps the earlier arrival', (input, earlier) => input.viewedAt === earlier.viewedAt),
    losing('keeps the furthest', (input, earlier) => input.position < earlier.position),
    changing('calls it stale', /AuditReport/, (data) => (data.reportProgress.outcome = 'STALE')),
  ],
  'ahead-counts-as-now': [
    changing('believes times ahead', /AuditReport/, (data) => (data.reportProgress.progress.viewedAt += 2 * HOUR)),
    fakeClear,
    losing('keeps the first arrival', () => true),
  ],
  'stale-says-what-is-stored': [
    changing('does not return the stored record', /AuditReport/, ({ reportProgress }) => {
      if (reportProgress.outcome === 'STALE') reportProgress.progress = null
    }),
    changing('calls stale reports accepted', /AuditReport/, (data) => (data.reportProgress.outcome = 'ACCEPTED')),
    byArrival,
  ],
  'glance-keeps-resume-point': [
    reporting('takes a glance for a view', (input) => ({ ...input, position: Math.max(input.position, 10_000) })),
    losing('drops glances', (input) => input.position === 0),
  ],
  'finished-stays': [byArrival],
  'newest-first': [
    changing('lists the oldest first', /AuditHistory/, (data) => data.viewerHistory.edges.reverse()),
    byArrival,
    changing('lists a subject twice', /AuditHistory/, ({ viewerHistory: { edges } }) => edges.splice(1, 0, edges[0])),
  ],
  'history-of-nobody-new': [
    everybodyIsSomebodyElse(),
    changing('says that there is more', /AuditHistory/, (data) => (data.viewerHistory.pageInfo.hasNextPage = true)),
  ],
  'pages-without-seam': [skipping, repeating, withoutEnd()],
  'pages-of-one-moment': [skipping, repeating],
  'pages-while-writing': [skipping, repeating],
  'pages-while-deleting': [skipping, repeating],
  'page-info': [
    changing('knows no previous page', /AuditHistory/, (data) => (data.viewerHistory.pageInfo.hasPreviousPage = false)),
    changing(
      'ends with the first cursor',
      /AuditHistory/,
      ({ viewerHistory: { pageInfo } }) => (pageInfo.endCursor = pageInfo.startCursor),
    ),
  ],
  'first-1-to-100': [
    asking('has pages of 50 at most', /AuditHistory/, (asked) =>
      askedWith(asked, { variables: { ...asked.variables, first: Math.min(50, asked.variables.first ?? 20) } }),
    ),
  ],
  'businesses-narrow': [asking('does not narrow', /AuditHistory/, (asked) => askedWith(asked, { variables: {} }))],
  'lookup-in-order': [
    changing('answers in another order', /AuditLookup/, (data) => data.subjects.reverse()),
    changing('leaves missing subjects out', /AuditLookup/, (data) => {
      data.subjects = data.subjects.filter(({ viewerProgress }: any) => viewerProgress !== null)
    }),
    changing('mixes positions up', /AuditLookup/, ({ subjects }) => {
      const positions = subjects.map(({ viewerProgress }: any) => viewerProgress).reverse()
      subjects.forEach((each: any, at: number) => (each.viewerProgress = positions[at]))
    }),
  ],
  'reads-agree': [olderLookup, olderPage],
  'delete-at-once': [
    fakeDelete,
    asking('deletes one more', /AuditDelete/, (asked) =>
      askedWith(asked, { variables: { ...asked.variables, ids: [...asked.variables.ids, '2'] } }),
    ),
    changing('lists ids that never were', /AuditDelete/, (data, asked) => (data.deleteHistory.deletedIds = asked.variables.ids)),
    changing('returns deleted subjects as before', /AuditDelete/, (data) => {
      for (const each of data.deleteHistory.subjects) each.viewerProgress = watched({ id: each.id }).viewerProgress
    }),
  ],
  'delete-late-report': [lateAsNow, fakeDelete],
  'delete-then-view': [fakeReport, datedBack],
  'delete-twice': [fakeDelete],
  'delete-across-processes': [inSecond(olderThanDeletion()), inSecond(fakeClear)],
  'clear-at-once': [
    fakeClear,
    changing('clears up to long ago', /AuditClear\b/, (data) => (data.clearHistory.clearedAt -= HOUR)),
    changing('keeps one entry', /AuditLookup/, (data) => (data.subjects[1] = watched({ id: '2' }))),
  ],
  'clear-one-business': [
    asking('clears everything', /AuditClear\b/, (asked) =>
      askedWith(asked, {
        query: asked.query.replace('clearHistory', 'also: clearHistory(input: { business: "article" }) { clearedAt } clearHistory'),
      }),
    ),
  ],
  'clear-late-report': [lateAsNow, fakeClear],
  'clear-then-view': [fakeClear, fakeReport],
  'pause-drops': [fakePause, changing('does not say paused', /AuditSettings/, (data) => (data.historySettings.paused = false))],
  'pause-lets-delete': [
    fakeDelete,
    fakeClear,
    pretending('deletes nothing', /AuditDelete/, (asked) => ({ deleteHistory: deletedAnswer(asked, []) })),
  ],
  'pause-across-processes': [
    inSecond(changing('does not mind the pause', /AuditReport/, (data) => (data.reportProgress.outcome = 'ACCEPTED'))),
    inSecond(changing('does not say paused', /AuditSettings/, (data) => (data.historySettings.paused = false))),
  ],
  'resume-counts-again': [pretending('pretends to resume', /AuditResume/, () => pausedAnswer(false)), fakePause],
  ...Object.fromEntries(BAD_REPORTS.map((id) => [`report-${id}`, [wrongCode, noSentence, halfWritten]])),
  'batch-good-inputs-count': [
    wrongCode,
    asking('stops at the first bad input', /AuditBatch/, (asked) => {
      const bad = asked.variables.reports.findIndex((input: any) => input.id === 'bad' || input.id === '')
      const reports = asked.variables.reports.map((input: any, index: number) => (index > bad ? { ...input, business: 'none' } : input))
      return askedWith(asked, { variables: { reports } })
    }),
    {
      name: 'acknowledges the good ones and stores none',
      make: () => ({
        async answer(asked, forward) {
          const answer = await forward(asked)
          const clear = { query: 'mutation { clearHistory(input: { business: "video" }) { clearedAt } }', variables: {} }
          if (/AuditBatch/.test(asked.query)) await forward(askedWith(asked, clear))
          return answer
        },
      }),
    },
  ],
  'batch-501': [
    wrongCode,
    halfDoing('stores the first 500', /AuditBatch/, (asked) =>
      askedWith(asked, { variables: { reports: asked.variables.reports.slice(0, 500) } }),
    ),
  ],
  'delete-201-ids': [
    wrongCode,
    halfDoing('deletes some', /AuditDelete/, (asked) => askedWith(asked, { variables: { business: 'video', ids: ['1'] } })),
  ],
  'delete-one-bad-id': [
    wrongCode,
    halfDoing('deletes some', /AuditDelete/, (asked) => askedWith(asked, { variables: { business: 'video', ids: ['1'] } })),
  ],
  'clear-business-unknown': [
    wrongCode,
    noSentence,
    pretending('answers requests it should refuse', /AuditClear\b/, () => ({
      clearHistory: { business: 'video', clearedAt: 1, userErrors: [] },
    })),
  ],
  ...Object.fromEntries(
    ['lookup-id-empty', 'lookup-id-long'].map((id) => [
      id,
      [wrongCode, noSentence, answersAll, changing('refuses the other ids too', /AuditLookup/, (data) => (data.subjects = null))],
    ]),
  ),
  'input-of-wrong-type': [
    wrongCode,
    halfDoing('stores the good one', /AuditBatch/, (asked) =>
      askedWith(asked, { variables: { reports: asked.variables.reports.slice(0, 1) } }),
    ),
  ],
  'mutation-too-wide': [wrongCode, halfDoing('runs one of it', /AuditWide/, oneReport)],
  'mutation-by-get': [
    wrongCode,
    {
      name: 'runs it',
      make: () => ({
        async answer(asked, forward) {
          const answer = await forward(asked)
          if (asked.method === 'GET') await forward(oneReport(asked))
          return answer
        },
      }),
    },
  ],
  ...Object.fromEntries(BAD_QUERIES.map((id) => [id, id.startsWith('cursor-') ? [wrongCode] : [wrongCode, answersAll]])),
  'nobody-reads': [wrongCode, everybodyIsSomebody],
  'nobody-writes': [wrongCode, everybodyIsSomebody],
  'nobody-follows': [everybodyIsSomebody],
  'token-broken': [wrongCode, everybodyIsSomebody],
  'token-forged': [wrongCode, everybodyIsSomebody],
  'token-expired': [wrongCode, everybodyIsSomebody],
  'others-read-nothing': [everybodyIsOne],
  'others-change-nothing': [everybodyIsOne],
  'write-for-another-forbidden': [
    wrongCode,
    asking('gives every caller every scope', /AuditReport/, (asked) => ({
      ...asked,
      headers: { ...asked.headers, 'x-viewer-scopes': 'progress:write-any' },
    })),
  ],
  'write-for-another-with-scope': [
    asking('gives no caller a scope', /AuditReport/, (asked) => {
      const { 'x-viewer-scopes': _, ...headers } = asked.headers
      return { ...asked, headers }
    }),
    reporting('stores it for the caller', (input) => ({ ...input, viewer: undefined })),
  ],
  ...SUBSCRIPTION_FAULTS,
  'health-live': [answeringAt('says that it does not run', '/health/live', () => told({ ok: false }, 503))],
  'health-ready': [
    answeringAt('says that a store is down', '/health/ready', (answer) =>
      told({ ...answer.json, stores: { ...answer.json.stores, log: 'the log does not answer' } }),
    ),
    answeringAt('drains', '/health/ready', () => told({ ok: false, draining: true, stores: {} }, 503)),
  ],
  'metrics-count': [
    answeringAt('counts nothing', '/metrics', (answer) => ({ ...answer, text: 'tidemark_reports_total{outcome="accepted"} 7\n' })),
  ],
  ...EXISTENCE_FAULTS,
  ...MARK_FAULTS,
  ...FEED_FAULTS,
  'write-back-drains': [
    ...['tidemark_dirty_keys', 'tidemark_log_lag_messages'].map((name) =>
      answeringAt(`has ${name} left`, '/metrics', (answer) => ({
        ...answer,
        text: answer.text.replace(new RegExp(`^${name} 0$`, 'm'), `${name} 3`),
      })),
    ),
  ],
  'written-stays': [olderPage, olderLookup, fakeBatch],
  'long-history-stays': [
    changing('ends where the hot timeline ends', /AuditHistory/, ({ viewerHistory: { edges, pageInfo } }) => {
      if (edges.some(({ node }: any) => node.id === '999')) pageInfo.hasNextPage = false
    }),
    changing('looks up in the hot timeline only', /AuditLookup/, (data, asked) => {
      if (asked.variables.ids[0] === '1499') data.subjects[0].viewerProgress = null
    }),
  ],
  'deleted-stays-deleted': [fakeDelete, fakeClear, lateAsNow],
  'paused-stays-paused': [fakePause],
}

/** A history whose last page claims that more follow. */
function withoutEnd(): PlannedFault {
  return changing('never ends', /AuditHistory/, ({ viewerHistory: { pageInfo } }) => (pageInfo.hasNextPage = true))
}

/** A new viewer gets the history of another one. */
function everybodyIsSomebodyElse(): PlannedFault {
  return changing(
    'shows the history of others',
    /AuditLookup/,
    (data) => (data.subjects = data.subjects.map(({ id }: any) => watched({ id }))),
  )
}

/** A process that looks deletions up in its own outdated copy. */
function olderThanDeletion(): PlannedFault {
  return changing('has not heard of the deletion', /AuditLookup/, (data, asked) => {
    data.subjects = asked.variables.ids.map((id: string) => watched({ id, position: REAL_POSITION }))
  })
}
