/** The answers of the mutations, of `subjects`, of pages and of events: entities as the caller now sees them, and mistakes as data. */
import { readFileSync } from 'node:fs'
import { graphql, parse, subscribe, type GraphQLEnumType } from 'graphql'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Degraded } from '../../../core/outage/degraded.ts'
import type { Viewer } from '../../../core/viewer.ts'
import { makeEngine } from '../../../gateway/operation/engine.ts'
import { composeSupergraph } from '../../../gateway/supergraph/compose.ts'
import { localTransport } from '../../../gateway/transports/local-transport.ts'
import { makeDataFolder, makeSwitchedStores, serveOn, type Folder, type Served, type SwitchedStores } from '../switched-stores.ts'

const PROGRESS = '{ id position duration viewedAt device finished }'
const MISTAKES = 'userErrors { code message path }'
const REPORT = `mutation ($input: ReportProgressInput!) { reportProgress(input: $input) {
  outcome ${MISTAKES} clearedAt subject { __typename id business viewerProgress ${PROGRESS} } progress ${PROGRESS} } }`
const BATCH = `mutation ($reports: [ReportProgressInput!]!) { reportProgressBatch(input: { reports: $reports }) {
  results { outcome ${MISTAKES} subject { id viewerProgress { position } } progress { position } } ${MISTAKES} } }`
const LOOKUP = `query ($ids: [ID!]!, $business: String! = "video") { subjects(business: $business, ids: $ids) {
  __typename id business viewerProgress { id position } } }`
const DELETE = `mutation ($ids: [ID!]!, $business: String! = "video") { deleteHistory(input: { business: $business, ids: $ids }) {
  deletedIds subjects { id viewerProgress { position } } ${MISTAKES} } }`
const CLEAR = `mutation ($business: String!) { clearHistory(input: { business: $business }) { business clearedAt ${MISTAKES} } }`
const PAUSE =
  'mutation ($paused: Boolean!) { updateHistorySettings(input: { paused: $paused }) { settings { id paused } userErrors { code } } }'

const viewer: Viewer = { id: '7', scopes: [] }
const importer: Viewer = { id: 'importer', scopes: ['progress:write-any'] }
const report = (id: string, position: number, more: object = {}) => ({ business: 'video', id, position, ...more })

let stores: SwitchedStores
let folder: Folder
let served: Served
beforeEach(() => {
  stores = makeSwitchedStores()
  folder = makeDataFolder()
  served = serveOn(stores, folder.path)
})
afterEach(async () => {
  await served.stop()
  folder.remove()
})

/** `as`: null for an anonymous caller. */
async function ask(source: string, variableValues: object = {}, as: Viewer | null = viewer): Promise<any> {
  const degraded: Degraded = new Set()
  const contextValue = { viewer: as ?? undefined, degraded, loaders: served.history.makeLoaders(degraded) }
  const { data, errors } = await graphql({ schema: served.history.schema, source, variableValues: { ...variableValues }, contextValue })
  return { data, errors: errors?.map(({ path, extensions }) => ({ path, code: extensions['code'] })), degraded: [...degraded] }
}

/** The schema as the gateway runs it: compiled, with the answers projected. */
async function askGateway(source: string, variables: object): Promise<any> {
  const { sdl, schema, makeLoaders } = served.history
  const subgraph = [{ name: 'history', transport: localTransport(schema) }]
  const operation = makeEngine(composeSupergraph([{ name: 'history', sdl }]), subgraph, { tokensMax: 10_000 }).prepare(source)
  if ('errors' in operation) throw operation.errors[0]
  const degraded: Degraded = new Set()
  const context = { viewer, degraded, loaders: makeLoaders(degraded) }
  return JSON.parse(JSON.stringify(await operation.execute({ ...variables }, context)))
}

const send = async (id: string, position: number, more: object = {}, as: Viewer = viewer) => {
  const { data, errors } = await ask(REPORT, { input: report(id, position, more) }, as)
  expect(errors).toBeUndefined()
  return data.reportProgress
}
/** The calls of the stores since, apart from those of the background. */
async function callsOf(work: () => Promise<unknown>): Promise<string[]> {
  stores.calls.length = 0
  await work()
  return stores.calls.filter((call) => !/^(log\.|hot\.(check|confirmRewards)|journal\.)/.test(call))
}

describe('a report returns its subject as the caller now sees it', () => {
  test('with the stored progress, also while the report is in the journal only', async () => {
    for (const hot of ['up', 'down'] as const) {
      stores.set('hot', hot)
      const { outcome, userErrors, subject, progress } = await send(hot, 60_000, { duration: 90_000, device: 'tv' })
      expect([outcome, userErrors]).toEqual(['ACCEPTED', []])
      expect(progress).toMatchObject({ position: 60_000, duration: 90_000, device: 'tv', finished: false })
      expect(subject).toEqual({ __typename: 'Video', id: hot, business: 'video', viewerProgress: progress })
    }
  })

  test('without a read for its progress', async () => {
    for (const fields of ['outcome', 'progress { id position } subject { id business viewerProgress { id position } }']) {
      const source = `mutation ($reports: [ReportProgressInput!]!) { reportProgressBatch(input: { reports: $reports }) { results { ${fields} } } }`
      const reports = Array.from({ length: 3 }, (_, at) => report(String(at), 60_000))
      expect(await callsOf(() => ask(source, { reports }))).toEqual(['hot.putProgress'])
    }
  })

  test('with its own view, if a service reports for another viewer', async () => {
    const asService = (position: number) => send('1', position, { viewer: '7' }, importer)
    expect(await asService(60_000)).toMatchObject({
      outcome: 'ACCEPTED',
      progress: { position: 60_000 },
      subject: { viewerProgress: null },
    })
    await send('1', 10_000, {}, importer)
    expect(await asService(70_000)).toMatchObject({ progress: { position: 70_000 }, subject: { viewerProgress: { position: 10_000 } } })
    const { data } = await ask(LOOKUP, { ids: ['1'] })
    expect(data.subjects).toMatchObject([{ viewerProgress: { position: 70_000 } }])
  })

  test('after a write in the same request, and not as the request read it before', async () => {
    await send('1', 10_000, {}, importer)
    const source = `mutation ($other: ReportProgressInput!) {
      before: reportProgress(input: $other) { subject { viewerProgress { position } } }
      deleteHistory(input: { business: "video", ids: ["1"] }) { deletedIds }
      after: reportProgress(input: $other) { subject { viewerProgress { position } } } }`
    const { data, errors } = await ask(source, { other: report('1', 60_000, { viewer: '7' }) }, importer)
    expect(errors).toBeUndefined()
    expect([data.before.subject, data.after.subject]).toEqual([{ viewerProgress: { position: 10_000 } }, { viewerProgress: null }])
  })

  test('with the stored progress if it is STALE, and without progress if it was cleared', async () => {
    const now = Date.now()
    await send('1', 60_000, { viewedAt: now })
    expect(await send('1', 70_000, { viewedAt: now - 5 })).toMatchObject({
      ...{ outcome: 'STALE', clearedAt: null, progress: { position: 60_000 }, subject: { viewerProgress: { position: 60_000 } } },
    })
    const { clearedAt } = (await ask(CLEAR, { business: 'video' })).data.clearHistory
    expect(await send('1', 80_000, { viewedAt: now - 5 })).toMatchObject({
      ...{ outcome: 'STALE', clearedAt, progress: null, subject: { id: '1', viewerProgress: null } },
    })
  })

  test('as it was before, if the history is paused', async () => {
    await send('1', 60_000)
    const { settings, userErrors } = (await ask(PAUSE, { paused: true })).data.updateHistorySettings
    expect([settings.paused, userErrors]).toEqual([true, []])
    expect(await send('1', 70_000)).toMatchObject({ outcome: 'PAUSED', progress: null, subject: { viewerProgress: { position: 60_000 } } })
  })

  test('for each report of a batch, through the gateway; a wrong one has its place', async () => {
    const reports = [report('a', 10_000), report('b', -1), report('c', 20_000), report('', 1), { ...report('d', 1), business: 'vidoe' }]
    const { data, errors } = await askGateway(BATCH, { reports })
    expect(errors).toBeUndefined()
    const { results, userErrors } = data.reportProgressBatch
    expect(userErrors).toEqual([])
    expect(results.map(({ outcome, subject, progress }: any) => [outcome, subject, progress])).toEqual([
      ['ACCEPTED', { id: 'a', viewerProgress: { position: 10_000 } }, { position: 10_000 }],
      ['REJECTED', null, null],
      ['ACCEPTED', { id: 'c', viewerProgress: { position: 20_000 } }, { position: 20_000 }],
      ['REJECTED', null, null],
      ['REJECTED', null, null],
    ])
    expect(results.flatMap((result: any) => result.userErrors).map(({ code, path }: any) => [code, ...path])).toEqual([
      ['POSITION_INVALID', 'input', 'reports', '1', 'position'],
      ['ID_INVALID', 'input', 'reports', '3', 'id'],
      ['BUSINESS_UNKNOWN', 'input', 'reports', '4', 'business'],
    ])
  })
})

describe('subjects', () => {
  test('an invalid id is null at its place with ID_INVALID, and the others are answered, alone and through the gateway', async () => {
    await send('b', 60_000)
    const subject = (id: string, viewerProgress: object | null) => ({ __typename: 'Video', id, business: 'video', viewerProgress })
    const watched = { id: expect.any(String) as string, position: 60_000 }
    const expected = [subject('a', null), null, subject('b', watched), null, subject('a', null)]
    const ids = ['a', '', 'b', 'x'.repeat(65), 'a']
    const alone = await ask(LOOKUP, { ids })
    expect(alone.data.subjects).toEqual(expected)
    expect(alone.errors).toEqual([1, 3].map((at) => ({ code: 'ID_INVALID', path: ['subjects', at] })))
    const { data, errors } = await askGateway(LOOKUP, { ids })
    expect(data.subjects).toEqual(expected)
    expect(errors).toMatchObject([1, 3].map((at) => ({ extensions: { code: 'ID_INVALID' }, path: ['subjects', at] })))
  })

  test('of a wrong call are null with the reason, and other fields keep their values', async () => {
    const source = `query ($ids: [ID!]!) { many: subjects(business: "video", ids: $ids) { id } unknown: subjects(business: "vidoe", ids: ["a"]) { id }
      fine: subjects(business: "video", ids: ["a"]) { id } historySettings { paused } }`
    const { data, errors } = await askGateway(source, { ids: Array.from({ length: 201 }, String) })
    expect(data).toEqual({ many: null, unknown: null, fine: [{ id: 'a' }], historySettings: { paused: false } })
    expect(errors.map(({ path, extensions }: any) => [path, extensions.code])).toEqual([
      [['many'], 'IDS_TOO_MANY'],
      [['unknown'], 'BUSINESS_UNKNOWN'],
    ])
  })

  test('take one read for all ids, and no read for `id` and `business`', async () => {
    const ids = Array.from({ length: 50 }, String)
    expect(await callsOf(() => ask(LOOKUP, { ids }))).toEqual(['hot.getProgressMany'])
    expect(await callsOf(() => ask('query ($ids: [ID!]!) { subjects(business: "video", ids: $ids) { id business } }', { ids }))).toEqual([])
  })

  test('have an id and a business for an anonymous caller, and no progress', async () => {
    const { data, errors } = await ask(LOOKUP, { ids: ['a'] }, null)
    expect(data).toEqual({ subjects: [{ __typename: 'Video', id: 'a', business: 'video', viewerProgress: null }] })
    expect(errors).toEqual([{ code: 'UNAUTHENTICATED', path: ['subjects', 0, 'viewerProgress'] }])
  })

  test('ignore the progress in a representation', async () => {
    await send('1', 60_000)
    const of = [{ __typename: 'Video', id: '1', record: { position: 9 }, viewerProgress: { position: 9 }, business: 'comic' }]
    const source = 'query ($of: [_Any!]!) { _entities(representations: $of) { ... on Video { business viewerProgress { position } } } }'
    expect((await ask(source, { of })).data).toEqual({ _entities: [{ business: 'video', viewerProgress: { position: 60_000 } }] })
  })
})

describe('the id of a progress', () => {
  const idOf = async (subject: { business?: string; id: string }, as: Viewer = viewer): Promise<string> =>
    (await send(subject.id, 60_000, { business: subject.business ?? 'video' }, as)).progress.id

  test('is the same in an answer, a lookup and a page, and after further reports', async () => {
    const id = await idOf({ id: '1' })
    expect(await idOf({ id: '1' })).toBe(id)
    expect((await ask(LOOKUP, { ids: ['1'] })).data.subjects[0].viewerProgress.id).toBe(id)
    const page = await ask('{ viewerHistory { edges { node { viewerProgress { id } } } } }')
    expect(page.data.viewerHistory.edges).toEqual([{ node: { viewerProgress: { id } } }])
  })

  test('differs for each viewer, business and subject, although their ids have colons', async () => {
    const ids = [
      await idOf({ id: '1' }),
      await idOf({ id: '2' }),
      await idOf({ id: '1', business: 'comic' }),
      await idOf({ id: '1' }, { id: '8', scopes: [] }),
      await idOf({ id: '1:1' }),
      await idOf({ id: '1' }, { id: '71:1', scopes: [] }),
      await idOf({ id: '1' }, { id: '7:1', scopes: [] }),
      await idOf({ id: '1:1:1' }),
    ]
    expect(new Set(ids).size).toBe(ids.length)
  })
})

test('a page is one read, with the progress and the time of each entry', async () => {
  await send('1', 60_000, { viewedAt: 1_700_000_000_001 })
  await send('2', 70_000, { viewedAt: 1_700_000_000_002, business: 'comic' })
  const source = '{ viewerHistory { edges { viewedAt node { __typename id business viewerProgress { position viewedAt } } } } }'
  let page: any
  expect(await callsOf(async () => (page = await askGateway(source, {})))).toEqual(['hot.listTimeline'])
  expect(page.data.viewerHistory.edges).toEqual([
    {
      viewedAt: 1_700_000_000_002,
      node: { __typename: 'Comic', id: '2', business: 'comic', viewerProgress: { position: 70_000, viewedAt: 1_700_000_000_002 } },
    },
    {
      viewedAt: 1_700_000_000_001,
      node: { __typename: 'Video', id: '1', business: 'video', viewerProgress: { position: 60_000, viewedAt: 1_700_000_000_001 } },
    },
  ])
})

test('a deletion returns its subjects without progress, without a read, also while it is in the journal only', async () => {
  await send('1', 60_000)
  const gone = ['2', '1'].map((id) => ({ id, viewerProgress: null }))
  let answer: any
  expect(await callsOf(async () => (answer = await ask(DELETE, { ids: ['2', '1'] })))).toEqual(['hot.deleteProgress'])
  expect(answer.data.deleteHistory).toEqual({ deletedIds: ['1'], subjects: gone, userErrors: [] })
  stores.set('hot', 'down')
  expect((await ask(DELETE, { ids: ['2', '1'] })).data.deleteHistory).toEqual({ deletedIds: [], subjects: gone, userErrors: [] })
})

test('the settings have one id per viewer', async () => {
  const settingsOf = async (as: Viewer) => (await ask('{ historySettings { id paused } }', {}, as)).data.historySettings
  const [mine, others] = [await settingsOf(viewer), await settingsOf(importer)]
  expect(mine.id).not.toBe(others.id)
  expect((await ask(PAUSE, { paused: true })).data.updateHistorySettings.settings).toEqual({ id: mine.id, paused: true })
  expect(await settingsOf(viewer)).toEqual({ id: mine.id, paused: true })
})

test('an event has the state after the change, without a read, and the first report of a day has two events', async () => {
  const degraded: Degraded = new Set()
  const contextValue = { viewer, degraded, loaders: served.history.makeLoaders(degraded, true) }
  const source =
    'subscription { progressChanged { kind business subject { __typename id business viewerProgress { position } } settings { id paused } dayToken token } }'
  const stream = (await subscribe({ schema: served.history.schema, document: parse(source), contextValue })) as AsyncIterableIterator<any>
  const events: any[] = []
  const calls = await callsOf(async () => {
    for (const change of [
      () => send('1', 60_000),
      () => Promise.resolve(),
      () => ask(DELETE, { ids: ['1'] }),
      () => ask(CLEAR, { business: 'video' }),
      () => served.history.service.setPaused(viewer, true, new Set()),
    ] as (() => Promise<unknown>)[]) {
      await change()
      events.push((await stream.next()).value.data.progressChanged)
    }
  })
  await stream.return?.()
  const subject = { __typename: 'Video', id: '1', business: 'video' }
  const nothing = { subject: null, settings: null, dayToken: null, token: expect.any(String) as string }
  const dayToken = expect.stringMatching(/^[0-9a-z]+\.[0-9a-z]+$/) as string
  expect(events).toEqual([
    { ...nothing, kind: 'REPORTED', business: 'video', subject: { ...subject, viewerProgress: { position: 60_000 } } },
    { ...nothing, kind: 'FIRST_OF_DAY', business: 'video', dayToken },
    { ...nothing, kind: 'DELETED', business: 'video', subject: { ...subject, viewerProgress: null } },
    { ...nothing, kind: 'CLEARED', business: 'video' },
    { ...nothing, kind: 'SETTINGS_CHANGED', business: '', settings: { id: 'history-settings:7', paused: true } },
  ])
  expect(calls).toEqual(['hot.putProgress', 'hot.deleteProgress', 'hot.clearProgress', 'hot.setPaused'])
})

test('UserErrorCode and the document have the codes of all mistakes, and no others', async () => {
  const long = 'x'.repeat(65)
  const many = Array.from({ length: 201 }, String)
  const codes = new Set<string>()
  const collect = async (source: string, variables: object, path: readonly string[]) => {
    const { data, errors } = await ask(source, variables)
    expect(errors).toBeUndefined()
    const [payload] = Object.values(data) as [any]
    const [mistake, ...others] = [...payload.userErrors, ...(payload.results ?? []).flatMap((each: any) => each.userErrors)]
    expect([mistake?.path, others]).toEqual([['input', ...path], []])
    expect(mistake.message).toMatch(/: \w/)
    codes.add(mistake.code)
  }
  for (const [field, value] of Object.entries({
    business: 'vidoe',
    viewer: '8',
    id: '',
    position: -1,
    duration: 0.5,
    viewedAt: 1,
    device: long,
  })) {
    await collect(REPORT, { input: { ...report('1', 1), [field]: value } }, [field])
    await collect(BATCH, { reports: [report('1', 60_000), { ...report('1', 1), [field]: value }] }, ['reports', '1', field])
  }
  await collect(BATCH, { reports: Array.from({ length: 501 }, () => report('1', 1)) }, ['reports'])
  await collect(DELETE, { business: 'vidoe', ids: ['1'] }, ['business'])
  await collect(DELETE, { ids: many }, ['ids'])
  await collect(DELETE, { ids: ['1', long] }, ['ids', '1'])
  await collect(CLEAR, { business: 'vidoe' }, ['business'])
  // test/subgraphs/history/quotas.test.ts has the quotas of a business.
  codes.add('QUOTA_EXCEEDED')
  // test/subgraphs/disabled-business.test.ts has a business that is disabled.
  codes.add('BUSINESS_DISABLED')
  const values = (served.history.schema.getType('UserErrorCode') as GraphQLEnumType).getValues().map(({ name }) => name)
  expect([...codes].sort()).toEqual(values.sort())
  const [, table = ''] = /codes in `userErrors` \|\n(.*?)\n\n/s.exec(readFileSync('docs/api/history.md', 'utf8')) ?? []
  expect([...new Set(table.match(/\b[A-Z]+_[A-Z_]+\b|\bFORBIDDEN\b/g))].sort()).toEqual(values)
})

test('an unexpected failure is an error with a code, not a mistake, and costs one field', async () => {
  stores.refuse((call) => (call === 'hot.putProgress' ? 'STORE_FULL' : undefined))
  const source = `mutation ($input: ReportProgressInput!, $reports: [ReportProgressInput!]!) { reportProgress(input: $input) { outcome }
    reportProgressBatch(input: { reports: $reports }) { userErrors { code } } updateHistorySettings(input: { paused: true }) { settings { paused } } }`
  const { data, errors } = await ask(source, { input: report('1', 1), reports: [report('1', 1)] })
  expect(data).toEqual({ reportProgress: null, reportProgressBatch: null, updateHistorySettings: { settings: { paused: true } } })
  expect(errors).toEqual(['reportProgress', 'reportProgressBatch'].map((field) => ({ path: [field], code: 'STORE_FULL' })))
})
