/** Bad input gets a code and a message with the remedy, and nothing is half-written. */
import { askGraphQL, askRaw, codesOf, userErrorsOf, type Answer } from '../answer.ts'
import { REAL_POSITION, type Audit } from '../audited.ts'
import type { Check } from '../check.ts'
import { expectEqual, expectFields, expectThat } from '../outcome.ts'
import { BATCH, CLEAR, DELETE, HISTORY, LOOKUP, type ReportInput, type Subject } from '../operations.ts'
import type { AuditViewer } from '../viewer.ts'

const HOUR = 3_600_000
const UNKNOWN_BUSINESS = 'no-such-business'

/** `field`: the input field that is wrong. */
type BadReport = { id: string; what: string; code: string; field: keyof ReportInput; input(): Partial<ReportInput> }

const BAD_REPORTS: readonly BadReport[] = [
  {
    id: 'business-unknown',
    what: 'a business that is not configured',
    code: 'BUSINESS_UNKNOWN',
    field: 'business',
    input: () => ({ business: UNKNOWN_BUSINESS }),
  },
  { id: 'id-empty', what: 'an empty id', code: 'ID_INVALID', field: 'id', input: () => ({ id: '' }) },
  { id: 'id-long', what: 'an id of 65 bytes', code: 'ID_INVALID', field: 'id', input: () => ({ id: `${'ü'.repeat(32)}x` }) },
  { id: 'id-broken', what: 'an id with half a surrogate pair', code: 'ID_INVALID', field: 'id', input: () => ({ id: 'half \ud83d' }) },
  { id: 'position-negative', what: 'a negative position', code: 'POSITION_INVALID', field: 'position', input: () => ({ position: -1 }) },
  { id: 'duration-negative', what: 'a negative duration', code: 'POSITION_INVALID', field: 'duration', input: () => ({ duration: -1 }) },
  { id: 'time-negative', what: 'a view before 1970', code: 'VIEWED_AT_INVALID', field: 'viewedAt', input: () => ({ viewedAt: -5 }) },
  { id: 'device-long', what: 'a device of 65 bytes', code: 'DEVICE_INVALID', field: 'device', input: () => ({ device: 'd'.repeat(65) }) },
]

function badReportCheck({ id, what, code, field, input }: BadReport): Check {
  return {
    id: `report-${id}`,
    sentence: `A report of ${what} is rejected with ${code} and changes nothing.`,
    async check(audit) {
      const viewer = await audit.ownViewer()
      await viewer.report({ id: '1', position: REAL_POSITION, viewedAt: audit.now() - HOUR })
      const answer = await viewer.report({ id: '1', position: REAL_POSITION + 1, ...input() })
      expectFields('the answer', answer, { outcome: 'REJECTED', code, path: ['input', field], progress: null, subject: null })
      expectSentence(answer.message)
      const stored = (await viewer.history()).edges.map(({ node }) => [node.id, node.viewerProgress?.position])
      expectEqual('the history as ids and positions', stored, [['1', REAL_POSITION]])
    },
  }
}

/** The form of a message: the mistake, a colon, and the remedy. */
export function expectSentence(message: string | null | undefined): void {
  expectThat(/\S{2,}.*: .*\w{2,}/s.test(message ?? ''), 'a message with the mistake, a colon and the remedy', message)
}

type BadQuery = { id: string; sentence: string; code: string; ask(viewer: AuditViewer, audit: Audit): Promise<Answer<unknown>> }

const idsOf = (count: number) => Array.from({ length: count }, (_, index) => String(index))
const parameters = (body: string, viewer: AuditViewer, contentType = 'application/json') =>
  askRaw(viewer.url, { headers: { ...viewer.headers, 'content-type': contentType }, body })

const BAD_QUERIES: readonly BadQuery[] = [
  ...[0, 101, -1].map((first) => ({
    id: `first-${first < 0 ? 'negative' : first}`,
    sentence: `A page of ${first} is refused.`,
    code: 'FIRST_INVALID',
    ask: (viewer: AuditViewer) => viewer.ask(HISTORY, { first }),
  })),
  {
    id: 'cursor-broken',
    sentence: 'A string that is no cursor is refused.',
    code: 'CURSOR_INVALID',
    ask: (viewer) => viewer.ask(HISTORY, { after: 'nonsense' }),
  },
  {
    id: 'cursor-cut',
    sentence: 'A truncated cursor is refused.',
    code: 'CURSOR_INVALID',
    async ask(viewer, audit) {
      await viewer.report({ id: audit.newOid(), position: REAL_POSITION })
      const cursor = (await viewer.history({ first: 1 })).pageInfo.endCursor ?? ''
      return viewer.ask(HISTORY, { after: cursor.slice(0, -2) })
    },
  },
  {
    id: 'cursor-of-another-list',
    sentence: 'A cursor from a list of other businesses is refused.',
    code: 'CURSOR_INVALID',
    async ask(viewer, audit) {
      await viewer.report({ business: audit.otherBusiness(), id: '1', position: REAL_POSITION })
      const { pageInfo } = await viewer.history({ businesses: [audit.otherBusiness()] })
      return viewer.ask(HISTORY, { businesses: [audit.business], after: pageInfo.endCursor })
    },
  },
  {
    id: 'history-business-unknown',
    sentence: 'The history of a business that is not configured is refused.',
    code: 'BUSINESS_UNKNOWN',
    ask: (viewer, audit) => viewer.ask(HISTORY, { businesses: [audit.business, UNKNOWN_BUSINESS] }),
  },
  {
    id: 'lookup-business-unknown',
    sentence: 'A point lookup in a business that is not configured is refused.',
    code: 'BUSINESS_UNKNOWN',
    ask: (viewer) => viewer.ask(LOOKUP, { business: UNKNOWN_BUSINESS, ids: ['1'] }),
  },
  {
    id: 'lookup-201-ids',
    sentence: 'A point lookup of 201 ids is refused.',
    code: 'IDS_TOO_MANY',
    ask: (viewer, audit) => viewer.ask(LOOKUP, { business: audit.business, ids: idsOf(201) }),
  },
  {
    id: 'json-broken',
    sentence: 'A body that is not JSON is refused.',
    code: 'BAD_REQUEST',
    ask: (viewer) => parameters('{"query": "{ historySettings ', viewer),
  },
  {
    id: 'query-missing',
    sentence: 'A body without a query is refused.',
    code: 'BAD_REQUEST',
    ask: (viewer) => parameters('{"variables": {}}', viewer),
  },
  {
    id: 'body-as-text',
    sentence: 'A body that a page of another origin can send without a preflight (text/plain) is refused.',
    code: 'BAD_REQUEST',
    ask: (viewer) => parameters('{"query": "{ historySettings { paused } }"}', viewer, 'text/plain'),
  },
  {
    id: 'graphql-broken',
    sentence: 'A query that is not valid GraphQL is refused.',
    code: 'GRAPHQL_PARSE_FAILED',
    ask: (viewer) => viewer.ask('{ historySettings { paused }'),
  },
  {
    id: 'field-unknown',
    sentence: 'An operation with a field that does not exist is refused.',
    code: 'GRAPHQL_VALIDATION_FAILED',
    ask: (viewer) => viewer.ask('{ historySettings { paused forHowLong } }'),
  },
  {
    id: 'operation-unknown',
    sentence: 'An operationName that the document does not define is refused.',
    code: 'OPERATION_RESOLUTION_FAILURE',
    ask: (viewer) => parameters(JSON.stringify({ query: 'query A { historySettings { paused } }', operationName: 'B' }), viewer),
  },
  {
    id: 'variable-missing',
    sentence: 'An operation without a required variable is refused.',
    code: 'GRAPHQL_VALIDATION_FAILED',
    ask: (viewer) => viewer.ask(LOOKUP, { ids: ['1'] }),
  },
  {
    id: 'query-too-deep',
    sentence: 'A query that is too deep is refused before anything runs.',
    code: 'OPERATION_TOO_LARGE',
    ask: (viewer) =>
      viewer.ask(`{ __type(name: "Query") { ${'ofType { '.repeat(120)} name ${'} '.repeat(120)} } historySettings { paused } }`),
  },
]

function badQueryCheck({ id, sentence, code, ask }: BadQuery): Check {
  return {
    id,
    sentence: sentence.replace('refused', `refused with ${code}`),
    async check(audit) {
      const answer = await ask(await (id.startsWith('cursor-') ? audit.ownViewer() : audit.anyViewer()), audit)
      expectEqual('the codes of the errors', [...new Set(codesOf(answer))], [code])
      expectSentenceOf(answer)
      expectEqual('data beside the refusal', dataOf(answer), null)
    },
  }
}

function badIdCheck(what: string, id: string, bad: string): Check {
  return {
    id,
    sentence: `${what} in a point lookup is null at its place, with ID_INVALID, and the other ids are answered.`,
    async check(audit) {
      const viewer = await audit.anyViewer()
      const answer = await viewer.ask<{ subjects: (Subject | null)[] | null }>(LOOKUP, { business: audit.business, ids: ['1', bad, '2'] })
      expectEqual('the codes of the errors', codesOf(answer), ['ID_INVALID'])
      expectSentenceOf(answer)
      expectEqual(
        'the ids of the subjects',
        answer.data?.subjects?.map((subject) => subject?.id ?? null),
        ['1', null, '2'],
      )
    },
  }
}

/** The mutation has one mistake, as data. `path`: below `input`. */
export function expectMistake(answer: Answer<unknown>, code: string, path: readonly string[]): void {
  expectEqual('the codes of the errors', codesOf(answer), [])
  const mistakes = userErrorsOf(answer)
  expectEqual(
    'code and path of the userErrors',
    mistakes.map((each) => [each.code, ...each.path]),
    [[code, 'input', ...path]],
  )
  expectSentence(mistakes[0]?.message)
}

/** Messages of GraphQL parsing and validation come from libraries and have another form. */
export function expectSentenceOf(answer: Answer<unknown>): void {
  const [error] = answer.errors
  if (error?.extensions?.code?.startsWith('GRAPHQL_') === true) expectThat(error.message.length > 10, 'a message', error.message)
  else expectSentence(error?.message)
}

/** An anonymous caller gets UNAUTHENTICATED for each of these. */
export async function expectNobodyAnswered(
  { url }: Audit,
  asked: readonly (readonly [query: string, variables: Record<string, unknown>])[],
): Promise<void> {
  const codes = []
  for (const [query, variables] of asked) codes.push(codesOf(await askGraphQL(url, {}, query, variables)))
  expectEqual(
    'the codes of the errors',
    codes,
    asked.map(() => ['UNAUTHENTICATED']),
  )
}

/** Data with only null fields counts as null. */
function dataOf({ data }: Answer<unknown>): unknown {
  return data !== null && Object.values(data as object).every((value) => value === null) ? null : data
}

export const badInput: readonly Check[] = [
  ...BAD_REPORTS.map(badReportCheck),
  {
    id: 'batch-good-inputs-count',
    sentence: 'Each bad input of a batch is rejected on its own, and the good ones count.',
    async check(audit) {
      const viewer = await audit.ownViewer()
      const good = ['first', 'middle', 'last'].map((id, index) => ({ id, position: REAL_POSITION, viewedAt: audit.now() - HOUR - index }))
      const bad = BAD_REPORTS.map(({ input }) => ({ id: 'bad', position: REAL_POSITION, ...input() }))
      const [first, middle, last] = good as [ReportInput, ReportInput, ReportInput]
      const answers = await viewer.reportBatch([first, ...bad.slice(0, 4), middle, ...bad.slice(4), last])
      const codes = BAD_REPORTS.map((each) => each.code)
      const expected = ['ACCEPTED', ...codes.slice(0, 4), 'ACCEPTED', ...codes.slice(4), 'ACCEPTED']
      expectEqual(
        'the outcomes',
        answers.map((answer) => answer.code ?? answer.outcome),
        expected,
      )
      const [rejected] = answers.slice(1)
      expectEqual('path of the first mistake', rejected?.path, ['input', 'reports', '1', BAD_REPORTS[0]?.field])
      expectEqual('the history', await viewer.oids(), ['first', 'middle', 'last'])
    },
  },
  {
    id: 'batch-501',
    sentence: 'A batch of 501 inputs is refused as a whole with INPUTS_TOO_MANY.',
    async check(audit) {
      const viewer = await audit.ownViewer()
      const reports = idsOf(501).map((id) => ({ business: audit.business, id, position: REAL_POSITION }))
      expectMistake(await viewer.ask(BATCH, { reports }), 'INPUTS_TOO_MANY', ['reports'])
      expectEqual('the history', await viewer.oids(), [])
    },
  },
  {
    id: 'delete-201-ids',
    sentence: 'A deletion of 201 ids is refused as a whole with IDS_TOO_MANY.',
    async check(audit) {
      const viewer = await audit.ownViewer()
      await viewer.report({ id: '1', position: REAL_POSITION })
      expectMistake(await viewer.ask(DELETE, { business: audit.business, ids: idsOf(201) }), 'IDS_TOO_MANY', ['ids'])
      expectEqual('the history', await viewer.oids(), ['1'])
    },
  },
  {
    id: 'delete-one-bad-id',
    sentence: 'A deletion with one bad id is refused as a whole with ID_INVALID.',
    async check(audit) {
      const viewer = await audit.ownViewer()
      await viewer.report({ id: '1', position: REAL_POSITION })
      expectMistake(await viewer.ask(DELETE, { business: audit.business, ids: ['1', ''] }), 'ID_INVALID', ['ids', '1'])
      expectEqual('the history', await viewer.oids(), ['1'])
    },
  },
  {
    id: 'clear-business-unknown',
    sentence: 'Clearing a business that is not configured is refused with BUSINESS_UNKNOWN.',
    async check(audit) {
      const viewer = await audit.anyViewer()
      expectMistake(await viewer.ask(CLEAR, { business: UNKNOWN_BUSINESS }), 'BUSINESS_UNKNOWN', ['business'])
    },
  },
  badIdCheck('An empty id', 'lookup-id-empty', ''),
  badIdCheck('An id of 65 bytes', 'lookup-id-long', 'x'.repeat(65)),
  {
    id: 'input-of-wrong-type',
    sentence: 'A batch with a position that is not a number is refused as a whole with GRAPHQL_VALIDATION_FAILED.',
    async check(audit) {
      const viewer = await audit.ownViewer()
      const reports = [REAL_POSITION, 'far'].map((position, index) => ({ business: audit.business, id: String(index), position }))
      const answer = await viewer.ask(BATCH, { reports })
      expectEqual('the codes of the errors', codesOf(answer), ['GRAPHQL_VALIDATION_FAILED'])
      expectEqual('the history', await viewer.oids(), [])
    },
  },
  {
    id: 'mutation-too-wide',
    sentence: 'A mutation that is too large is refused with OPERATION_TOO_LARGE before any of it runs.',
    async check(audit) {
      const viewer = await audit.ownViewer()
      const fields = idsOf(150).map((id) => `a${id}: reportProgress(input: $input) { outcome }`)
      const input = { business: audit.business, id: '1', position: REAL_POSITION }
      const answer = await viewer.ask(`mutation AuditWide($input: ReportProgressInput!) { ${fields.join(' ')} }`, { input })
      expectEqual('the codes of the errors', [...new Set(codesOf(answer))], ['OPERATION_TOO_LARGE'])
      expectSentenceOf(answer)
      expectEqual('the history', await viewer.oids(), [])
    },
  },
  {
    id: 'mutation-by-get',
    sentence: 'A mutation by GET is refused and does not run.',
    async check(audit) {
      const viewer = await audit.ownViewer()
      const url = new URL(viewer.url)
      url.searchParams.set(
        'query',
        `mutation { reportProgress(input: { business: "${audit.business}", id: "1", position: ${REAL_POSITION} }) { outcome } }`,
      )
      const answer = await askRaw(url.href, { method: 'GET', headers: viewer.headers })
      expectEqual('the codes of the errors', codesOf(answer), ['BAD_REQUEST'])
      expectSentenceOf(answer)
      expectEqual('the history', await viewer.oids(), [])
    },
  },
  ...BAD_QUERIES.map(badQueryCheck),
]
