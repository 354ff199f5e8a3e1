/** A failure of ours costs one field: the data of a partner in the same operation stays. */
import { isNonNullType, type GraphQLObjectType } from 'graphql'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { makeConfig } from '../../../config/config.ts'
import { makePlanner } from '../../../gateway/operation/planner.ts'
import { composeSupergraph } from '../../../gateway/supergraph/compose.ts'
import { ask } from '../../../harness/deployment/service.ts'
import { ourSubgraphs } from '../../../subgraphs/catalog.ts'
import { serve, type Served } from './served.ts'

const { schema } = makePlanner(composeSupergraph(ourSubgraphs(makeConfig([]))))
const rootFields = (type: GraphQLObjectType | null | undefined) => Object.values(type?.getFields() ?? {})

let served: Served
beforeAll(async () => {
  served = await serve()
}, 30_000)
afterAll(() => served.stop())

const many = (count: number) => JSON.stringify(Array.from({ length: count }, (_, at) => String(at)))
const NOBODY = { viewer: undefined, scopes: undefined }
const VIEWER = { viewer: '7', scopes: undefined }
const OPERATOR = { viewer: '7', scopes: 'operator' }

/** A root field, its call, the caller, and the code of the failure. */
const QUERIES = [
  ['subjects', 'subjects(business: "vidoe", ids: ["1"]) { id }', NOBODY, 'BUSINESS_UNKNOWN'],
  ['subjects', `subjects(business: "video", ids: ${many(201)}) { id likeCount }`, NOBODY, 'IDS_TOO_MANY'],
  ['subjects', `subjects(business: "video", ids: ${many(201)}) { viewerProgress { position } }`, VIEWER, 'IDS_TOO_MANY'],
  ['subjects', `subjects(business: "video", ids: ${many(201)}) { viewerSeen viewerMark }`, VIEWER, 'IDS_TOO_MANY'],
  ['unseen', 'unseen(business: "video", candidates: ["1"]) { ids }', NOBODY, 'UNAUTHENTICATED'],
  ['unseen', 'unseen(business: "vidoe", candidates: ["1"]) { ids }', VIEWER, 'BUSINESS_UNKNOWN'],
  ['unseen', 'unseen(business: "video", candidates: [""]) { ids }', VIEWER, 'ID_INVALID'],
  ['unseen', `unseen(business: "video", candidates: ${many(501)}) { ids }`, VIEWER, 'CANDIDATES_TOO_MANY'],
  ['whyHidden', 'whyHidden(business: "video", id: "1", viewer: "7") { hidden }', VIEWER, 'UNAUTHORIZED_FIELD_OR_TYPE'],
  ['whyHidden', 'whyHidden(business: "vidoe", id: "1", viewer: "7") { hidden }', OPERATOR, 'BUSINESS_UNKNOWN'],
  ...(['historyTenants', 'likesTenants', 'existenceTenants'] as const).flatMap((field) => [
    [field, `${field} { business }`, VIEWER, 'UNAUTHORIZED_FIELD_OR_TYPE'] as const,
  ]),
  ['viewerHistory', 'viewerHistory { edges { cursor } }', NOBODY, 'UNAUTHENTICATED'],
  ['viewerHistory', 'viewerHistory(first: 0) { edges { cursor } }', VIEWER, 'FIRST_INVALID'],
  ['viewerHistory', 'viewerHistory(after: "x") { edges { cursor } }', VIEWER, 'CURSOR_INVALID'],
  ['viewerHistory', 'viewerHistory(businesses: ["vidoe"]) { edges { cursor } }', VIEWER, 'BUSINESS_UNKNOWN'],
  ['historySettings', 'historySettings { paused }', NOBODY, 'UNAUTHENTICATED'],
  ['rewardEvents', 'rewardEvents { missedCount }', VIEWER, 'UNAUTHORIZED_FIELD_OR_TYPE'],
  ['thumbupUser', 'thumbupUser { id }', NOBODY, 'UNAUTHENTICATED'],
  ['thumbupUser', 'thumbupUser(id: "") { id }', VIEWER, 'ID_INVALID'],
  ['reconcile', 'reconcile(business: "video", ids: ["1"]) { checked }', VIEWER, 'UNAUTHORIZED_FIELD_OR_TYPE'],
  ['reconcile', `reconcile(business: "video", ids: ${many(201)}) { checked }`, OPERATOR, 'IDS_TOO_MANY'],
  ['homeFeed', 'homeFeed { edges { cursor } }', NOBODY, 'UNAUTHENTICATED'],
  ['homeFeed', 'homeFeed(first: 0) { edges { cursor } }', VIEWER, 'FIRST_INVALID'],
  ['homeFeed', 'homeFeed(after: "x") { edges { cursor } }', VIEWER, 'CURSOR_INVALID'],
  ['posts', `posts(ids: ${many(201)}) { id }`, NOBODY, 'IDS_TOO_MANY'],
  ['feedUser', 'feedUser(id: "") { id }', NOBODY, 'ID_INVALID'],
  ['filterWords', 'filterWords { words }', NOBODY, 'UNAUTHENTICATED'],
] as const

const MUTATIONS: Readonly<Record<string, string>> = {
  recordIssued: '(input: { business: "video", ids: ["1"] }) { recorded }',
  recordPlayed: '(input: { business: "video", ids: ["1"] }) { recordedCount }',
  reportProgress: '(input: { business: "video", id: "1", position: 1 }) { outcome }',
  reportProgressBatch: '(input: { reports: [] }) { results { outcome } }',
  deleteHistory: '(input: { business: "video", ids: ["1"] }) { deletedIds }',
  clearHistory: '(input: { business: "video" }) { clearedAt }',
  updateHistorySettings: '(input: { paused: true }) { settings { paused } }',
  setMark: '(input: { business: "video", id: "1", mark: LIKE }) { outcome }',
  setMarkBatch: '(input: { marks: [] }) { results { outcome } }',
  registerSubjects: '(input: { subjects: [] }) { results { registered } }',
  publishPost: '(input: { clientKey: "1", text: "a" }) { repeated }',
  deletePost: '(input: { id: "1" }) { post { id } }',
  follow: '(input: { ids: ["1"] }) { results { outcome } }',
  unfollow: '(input: { ids: ["1"] }) { results { outcome } }',
  setFilterWords: '(input: { words: [] }) { filterWords { words } }',
  adjustCounts: '(input: { events: [] }) { results { outcome } }',
}

describe('every root field', () => {
  test('is nullable', () => {
    const fields = [schema.getQueryType(), schema.getMutationType(), schema.getSubscriptionType()].flatMap(rootFields)
    expect(fields.length).toBeGreaterThan(18)
    expect(fields.filter(({ type }) => isNonNullType(type)).map(({ name }) => name)).toEqual([])
  })

  test('is in the tables below', () => {
    expect([...new Set(QUERIES.map(([field]) => field))].sort()).toEqual(
      rootFields(schema.getQueryType())
        .map(({ name }) => name)
        .sort(),
    )
    expect(Object.keys(MUTATIONS).sort()).toEqual(
      rootFields(schema.getMutationType())
        .map(({ name }) => name)
        .sort(),
    )
  })
})

describe('the data of a partner stays', () => {
  test.each(QUERIES)('beside %s: %s', async (field, call, { viewer, scopes }, code) => {
    const headers: Record<string, string> = scopes === undefined ? {} : { 'x-viewer-scopes': scopes }
    const { data, errors } = await ask(served.service.url, viewer, `{ before: films ${call} after: films }`, {}, headers)
    const films = ['Alien', 'Brazil']
    expect(data).toEqual({ before: films, [field]: null, after: films })
    expect(errors?.map(({ path, extensions }) => [path, extensions.code])).toEqual([[[field], code]])
  })

  test.each(Object.entries(MUTATIONS))('beside %s%s of an anonymous caller', async (field, call) => {
    const { data, errors } = await ask(served.service.url, undefined, `mutation { before: play ${field}${call} after: play }`)
    expect(data).toEqual({ before: 'played', [field]: null, after: 'played' })
    expect(errors?.map(({ path, extensions }) => [path, extensions.code])).toEqual([[[field], 'UNAUTHENTICATED']])
  })

  test('beside a mutation without its scope', async () => {
    const { data, errors } = await ask(served.service.url, '7', `mutation { play registerSubjects${MUTATIONS['registerSubjects']} }`)
    expect(data).toEqual({ play: 'played', registerSubjects: null })
    expect(errors?.map(({ extensions }) => extensions.code)).toEqual(['UNAUTHORIZED_FIELD_OR_TYPE'])
  })

  test('beside one subject with an invalid id, at its position', async () => {
    const query = '{ films subjects(business: "video", ids: ["1", "", "3"]) { id likeCount } }'
    const { data, errors } = await ask(served.service.url, undefined, query)
    const [first, third] = ['1', '3'].map((id) => ({ id, likeCount: 0 }))
    expect(data).toEqual({ films: ['Alien', 'Brazil'], subjects: [first, null, third] })
    expect(errors?.map(({ path, extensions }) => [path, extensions.code])).toEqual([[['subjects', 1], 'ID_INVALID']])
  })
})

test.each([
  ['progressChanged', 'progressChanged { kind }', 'UNAUTHENTICATED'],
  ['countsChanged', 'countsChanged(business: "vidoe", ids: ["1"]) { subjects { id } }', 'BUSINESS_UNKNOWN'],
])('the subscription %s ends with its error alone', async (_field, call, code) => {
  const response = await fetch(served.service.url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'text/event-stream' },
    body: JSON.stringify({ query: `subscription { ${call} }` }),
  })
  const text = await response.text()
  const answer = JSON.parse(/^data: (.+)$/m.exec(text)?.[1] ?? text) as { data?: unknown; errors: { extensions: { code: string } }[] }
  expect([answer.data ?? null, answer.errors.map(({ extensions }) => extensions.code)]).toEqual([null, [code]])
})
