/** The answers of the mutations, of `subjects` and of events: entities as the caller now sees them, and mistakes as data. */
import type { GraphQLEnumType } from 'graphql'
import { parse, subscribe } from 'graphql'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { makeEngine } from '../../../gateway/operation/engine.ts'
import { composeSupergraph } from '../../../gateway/supergraph/compose.ts'
import { localTransport } from '../../../gateway/transports/local-transport.ts'
import { until } from '../../../harness/until.ts'
import type { ThumbupJob } from '../../../subgraphs/thumbup/persist/job.ts'
import { openMarkedStores, serveThumbup, viewerOf, type MarkedStores, type ServedThumbup } from './marked-stores.ts'

const SET = `mutation ($input: SetMarkInput!) { setMark(input: $input) {
  outcome mark userErrors { code message path } subject { __typename id business viewerMark likeCount dislikeCount } } }`
const SET_MARKS = `mutation ($marks: [SetMarkInput!]!) { setMarkBatch(input: { marks: $marks }) {
  results { mark subject { id viewerMark likeCount } } userErrors { code } } }`
const READ =
  'query ($business: String!, $ids: [ID!]!) { subjects(business: $business, ids: $ids) { __typename id business viewerMark likeCount } }'
const viewer = viewerOf('7')
const service = viewerOf('svc', 'marks:write-any')
const video = (id: string, mark: string, likeCount: number, dislikeCount = 0) => ({
  ...{ __typename: 'Video', id, business: 'video', viewerMark: mark, likeCount, dislikeCount },
})

let stores: MarkedStores
let served: ServedThumbup
let job: ThumbupJob | undefined
beforeEach(() => {
  stores = openMarkedStores()
  served = serveThumbup(stores)
})
afterEach(async () => {
  await served.stop()
  await job?.stop()
  job = undefined
  await stores.close()
})

const set = async (as: ReturnType<typeof viewerOf>, id: string, mark: string, more: object = {}) => {
  const { data, errors, degraded } = await served.ask(SET, as, { input: { business: 'video', id, mark, ...more } })
  expect(errors).toEqual([])
  return { ...data.setMark, degraded }
}
const settled = () => until('everything is persisted', async () => (await stores.plain.hot.countDirtyMarks()) === 0)
/** The schema as the gateway runs it: compiled, with the answers of each subgraph projected. */
const throughGateway = () => {
  const { sdl, schema, makeLoaders } = served.subgraph
  const engine = makeEngine(composeSupergraph([{ name: 'thumbup', sdl }]), [{ name: 'thumbup', transport: localTransport(schema) }], {
    tokensMax: 10_000,
  })
  return async (query: string, variables: Record<string, unknown>, as?: ReturnType<typeof viewerOf>): Promise<any> => {
    const operation = engine.prepare(query)
    if ('errors' in operation) throw operation.errors[0]
    const degraded = new Set<never>()
    const context = { viewer: as, degraded, loaders: makeLoaders(degraded) }
    return JSON.parse(JSON.stringify(await operation.execute(variables, context)))
  }
}

describe('a mark returns its subject as the caller now sees it', () => {
  test('with the mark and the counts, also while the mark is in the journal only', async () => {
    for (const redis of ['up', 'down'] as const) {
      stores.set('redis', redis)
      const id = redis
      expect(await set(viewer, id, 'LIKE')).toMatchObject({ outcome: 'ACCEPTED', mark: 'LIKE', subject: video(id, 'LIKE', 1) })
      expect(await set(viewer, id, 'DISLIKE')).toMatchObject({ mark: 'DISLIKE', subject: video(id, 'DISLIKE', 0, 1) })
      expect(await set(viewer, id, 'NONE')).toMatchObject({ mark: 'NONE', subject: video(id, 'NONE', 0) })
    }
  })

  test('without a read for its viewerMark, and one read of mark and counts for its likeCount', async () => {
    await set(viewer, 'a', 'LIKE')
    const asked = async (fields: string) => {
      stores.calls.length = 0
      const query = `mutation { setMark(input: { business: "video", id: "a", mark: LIKE }) { subject { ${fields} } } }`
      expect((await served.ask(query, viewer)).errors).toEqual([])
      return stores.calls.filter((call) => !call.startsWith('log.')).sort()
    }
    expect(await asked('id viewerMark')).toEqual(['hot.putMarks'])
    expect(await asked('viewerMark likeCount dislikeCount')).toEqual(['cache.getCountsMany', 'hot.getMarkMany', 'hot.putMarks'])
  })

  test('with its own view, if a service sets the mark of another viewer', async () => {
    expect(await set(service, 'a', 'LIKE', { viewer: '7' })).toMatchObject({
      outcome: 'ACCEPTED',
      mark: 'LIKE',
      subject: video('a', 'NONE', 0),
    })
    expect((await served.ask(READ, viewer, { business: 'video', ids: ['a'] })).data.subjects).toMatchObject([
      { viewerMark: 'LIKE', likeCount: 1 },
    ])
    await set(service, 'a', 'DISLIKE')
    expect(await set(service, 'a', 'NONE', { viewer: '7' })).toMatchObject({ mark: 'NONE', subject: video('a', 'DISLIKE', 0, 1) })
  })

  test('with the stored mark, if it is STALE', async () => {
    const now = Date.now()
    await set(viewer, 'a', 'LIKE', { markedAt: now - 1_000 })
    expect(await set(viewer, 'a', 'NONE', { markedAt: now - 2_000 })).toMatchObject({
      ...{ outcome: 'STALE', mark: 'LIKE', subject: video('a', 'LIKE', 1) },
    })
  })

  test('for each mark of a batch, through the gateway', async () => {
    const marks = ['a', 'b', 'a'].map((id, at) => ({ business: 'video', id, mark: at === 2 ? 'NONE' : 'LIKE' }))
    marks.push({ business: 'nope', id: 'a', mark: 'LIKE' })
    expect(await throughGateway()(SET_MARKS, { marks }, viewer)).toEqual({
      data: {
        setMarkBatch: {
          results: [
            { mark: 'LIKE', subject: { id: 'a', viewerMark: 'LIKE', likeCount: 1 } },
            { mark: 'LIKE', subject: { id: 'b', viewerMark: 'LIKE', likeCount: 1 } },
            { mark: 'NONE', subject: { id: 'a', viewerMark: 'NONE', likeCount: 0 } },
            { mark: null, subject: null },
          ],
          userErrors: [],
        },
      },
    })
  })
})

describe('subjects', () => {
  test('an invalid id is null at its position with ID_INVALID, and the others are answered, alone and through the gateway', async () => {
    await set(viewer, 'b', 'LIKE')
    const variables = { business: 'video', ids: ['a', '', 'b', 'x'.repeat(65), 'a'] }
    const { likeCount: _, ...none } = { ...video('a', 'NONE', 0), dislikeCount: undefined }
    const expected = [
      { ...none, likeCount: 0 },
      null,
      { ...none, id: 'b', viewerMark: 'LIKE', likeCount: 1 },
      null,
      { ...none, likeCount: 0 },
    ]
    const alone = await served.ask(READ, viewer, variables)
    expect(alone.data.subjects).toEqual(JSON.parse(JSON.stringify(expected)))
    expect(alone.errors).toMatchObject([1, 3].map((at) => ({ code: 'ID_INVALID', path: ['subjects', at] })))
    const { data, errors } = await throughGateway()(READ, variables, viewer)
    expect(data.subjects).toEqual(JSON.parse(JSON.stringify(expected)))
    expect(errors).toMatchObject([1, 3].map((at) => ({ extensions: { code: 'ID_INVALID' }, path: ['subjects', at] })))
  })

  test('of a wrong call as a whole are null with the reason, and other fields keep their values', async () => {
    const ids = Array.from({ length: 201 }, (_, at) => String(at))
    const query = `query ($ids: [ID!]!) { many: subjects(business: "video", ids: $ids) { id } unknown: subjects(business: "vidoe", ids: ["a"]) { id }
      fine: subjects(business: "video", ids: ["a"]) { likeCount } }`
    const { data, errors } = await throughGateway()(query, { ids })
    expect(data).toEqual({ many: null, unknown: null, fine: [{ likeCount: 0 }] })
    expect(errors.map(({ path, extensions }: any) => [path, extensions.code])).toEqual([
      [['many'], 'IDS_TOO_MANY'],
      [['unknown'], 'BUSINESS_UNKNOWN'],
    ])
  })

  test('of a business without likes have null fields and no errors, for entity calls too, and no properties of a representation', async () => {
    const fields = '__typename id business likeCount dislikeCount viewerMark likers { edges { cursor } }'
    const none = { id: 'a', business: 'plain', likeCount: null, dislikeCount: null, viewerMark: null, likers: null }
    const query = `query ($of: [_Any!]!) { subjects(business: "plain", ids: ["a"]) { ${fields} } _entities(representations: $of) { ... on Plain { ${fields} } } }`
    const of = [{ __typename: 'Plain', id: 'a', likeCount: 5, dislikeCount: 5, viewerMark: 'LIKE', likers: { edges: [] } }]
    for (const as of [viewer, undefined]) {
      stores.calls.length = 0
      const { data, errors } = await served.ask(query, as, { of })
      expect([data, errors]).toEqual([{ subjects: [{ __typename: 'Plain', ...none }], _entities: [{ __typename: 'Plain', ...none }] }, []])
      expect(stores.calls).toEqual([])
    }
    expect(await set(viewer, 'a', 'LIKE', { business: 'plain' })).toMatchObject({
      ...{ outcome: 'REJECTED', subject: null, userErrors: [{ code: 'BUSINESS_UNKNOWN', path: ['input', 'business'] }] },
    })
  })
})

describe('an event of countsChanged', () => {
  const CHANGES =
    'subscription { countsChanged(business: "video", ids: ["a"]) { subjects { __typename id business likeCount viewerMark } } }'
  async function open(as: ReturnType<typeof viewerOf> | undefined, source: string) {
    const degraded = new Set<never>()
    const contextValue = { viewer: as, degraded, loaders: served.subgraph.makeLoaders(degraded, true) }
    const stream = await subscribe({ schema: served.subgraph.schema, document: parse(source), contextValue })
    return stream as AsyncIterableIterator<any>
  }

  test("includes the viewer's own mark that is not counted yet, for this viewer only", async () => {
    const [mine, theirs] = [await open(viewer, CHANGES), await open(viewerOf('9'), CHANGES)]
    await set(viewer, 'a', 'LIKE')
    // Another process has counted the mark of another viewer, and not this one.
    await stores.plain.cache.putCounts([{ business: 1, oid: 'a', counts: { likes: 5, dislikes: 0, version: 9 } }])
    const subject = { __typename: 'Video', id: 'a', business: 'video' }
    expect((await mine.next()).value.data).toEqual({ countsChanged: { subjects: [{ ...subject, likeCount: 6, viewerMark: 'LIKE' }] } })
    expect((await theirs.next()).value.data).toEqual({ countsChanged: { subjects: [{ ...subject, likeCount: 5, viewerMark: 'NONE' }] } })
    await Promise.all([mine.return?.(), theirs.return?.()])
  })

  test('needs no read for an anonymous caller, and one command of the hot store for a viewer, although the viewer is unknown', async () => {
    const source = 'subscription { countsChanged(business: "video", ids: ["a"]) { subjects { id likeCount } } }'
    for (const [as, calls] of [
      [undefined, []],
      [viewer, ['hot.getMarkMany']],
    ] as const) {
      const stream = await open(as, source)
      stores.calls.length = 0
      const counts = { likes: 5, dislikes: 0, version: as === undefined ? 9 : 10 }
      await stores.plain.cache.putCounts([{ business: 1, oid: 'a', counts }])
      expect((await stream.next()).value).toEqual({ data: { countsChanged: { subjects: [{ id: 'a', likeCount: 5 }] } } })
      expect(stores.calls.filter((call) => !/^(hot\.(check|countDirtyMarks)|log\.)/.test(call))).toEqual(calls)
      await stream.return?.()
    }
  })

  test('has the counts alone while the hot store is down', async () => {
    const stream = await open(viewer, 'subscription { countsChanged(business: "video", ids: ["a"]) { subjects { id likeCount } } }')
    stores.set('hot', 'down')
    await stores.plain.cache.putCounts([{ business: 1, oid: 'a', counts: { likes: 5, dislikes: 0, version: 9 } }])
    expect((await stream.next()).value).toEqual({ data: { countsChanged: { subjects: [{ id: 'a', likeCount: 5 }] } } })
    await stream.return?.()
  })
})

test('a list of likes has the subjects as entities, with their fields', async () => {
  job = await served.subgraph.startJob()
  await set(viewer, 'a', 'LIKE', { markedAt: Date.now() - 5_000 })
  await set(viewer, 'b', 'LIKE')
  await settled()
  const query = `{ thumbupUser { likes(business: "video") { edges { cursor markedAt node { __typename id business viewerMark likeCount } } } } }`
  const { data, errors } = await throughGateway()(query, {}, viewer)
  expect(errors).toBeUndefined()
  const { dislikeCount: _, ...liked } = video('b', 'LIKE', 1)
  expect(data.thumbupUser.likes.edges.map(({ node }: any) => node)).toEqual([liked, { ...liked, id: 'a' }])
})

test('every code of a rejected input and of a wrong call is a value of UserErrorCode', async () => {
  const codes = served.subgraph.schema.getType('UserErrorCode') as GraphQLEnumType
  expect(codes.getValues().map(({ name }) => name)).toEqual([
    ...[
      'BUSINESS_UNKNOWN',
      'BUSINESS_DISABLED',
      'BUSINESS_DELETED',
      'DATA_DAMAGED',
      'DATA_INCOMPATIBLE',
      'DISLIKES_OFF',
      'FORBIDDEN',
      'HOT_STORE_UNAVAILABLE',
    ],
    ...['ID_INVALID', 'INPUTS_TOO_MANY', 'MARKED_AT_INVALID', 'POST_UNKNOWN', 'QUOTA_EXCEEDED', 'RECORD_STORE_UNAVAILABLE'],
    ...['REGISTERED_TWICE', 'SOURCE_INVALID', 'STORE_FULL'],
  ])
})
