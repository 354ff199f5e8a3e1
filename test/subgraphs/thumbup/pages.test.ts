import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { graphql } from 'graphql'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { systemClock } from '../../../core/clock.ts'
import { makeConfig } from '../../../config/config.ts'
import { openStores, type OpenStores } from '../../../cli/stores/history.ts'
import { makeThumbupSubgraph, type ThumbupSubgraph } from '../../../subgraphs/thumbup/index.ts'

const folder = mkdtempSync(join(tmpdir(), 'tidemark-pages-'))
const silent = { debug() {}, info() {}, warn() {}, error() {} }
const viewer = { id: '7', scopes: ['marks:write-any'] }
const ids = Array.from({ length: 50 }, (_, at) => String(100 + at))
const calls = { marks: 0, counts: 0 }
let stores: OpenStores
let subgraph: ThumbupSubgraph

beforeAll(async () => {
  const config = makeConfig([{ name: 'test', values: { stores: { data: folder } } }])
  stores = await openStores(config, systemClock, silent)
  const { hot, cache } = stores.marks
  const counted = {
    ...stores.marks,
    hot: { ...hot, getMarkMany: (keys: Parameters<typeof hot.getMarkMany>[0]) => (calls.marks++, hot.getMarkMany(keys)) },
    cache: { ...cache, getCountsMany: (keys: Parameters<typeof cache.getCountsMany>[0]) => (calls.counts++, cache.getCountsMany(keys)) },
  }
  subgraph = makeThumbupSubgraph(systemClock, counted, config, () => undefined)
  await subgraph.service.mark(
    viewer,
    [
      { business: 'video', id: '101', mark: 'LIKE' },
      { business: 'video', id: '102', mark: 'DISLIKE' },
      { business: 'video', id: '101', mark: 'LIKE', viewer: '8' },
    ],
    new Set(),
  )
  await ask('query($ids: [ID!]!) { subjects(business: "video", ids: $ids) { viewerMark likeCount } }')
})

afterAll(async () => {
  await subgraph.drain()
  await stores.close()
  rmSync(folder, { recursive: true, force: true })
})

beforeEach(() => Object.assign(calls, { marks: 0, counts: 0 }))

async function ask(source: string, as: typeof viewer | null = viewer, variables: object = {}): Promise<any> {
  const contextValue = { viewer: as ?? undefined, loaders: subgraph.makeLoaders(new Set()), degraded: new Set() }
  const result = await graphql({ schema: subgraph.schema, source, contextValue, variableValues: { ids, ...variables } })
  return JSON.parse(JSON.stringify(result))
}

describe('a page of subjects', () => {
  test('is one multi-get of marks and one of counts, for any requested fields', async () => {
    const { data } = await ask('query($ids: [ID!]!) { subjects(business: "video", ids: $ids) { id viewerMark likeCount dislikeCount } }')
    expect(data.subjects.slice(1, 4)).toEqual([
      { id: '101', viewerMark: 'LIKE', likeCount: 1, dislikeCount: 0 },
      { id: '102', viewerMark: 'DISLIKE', likeCount: 0, dislikeCount: 1 },
      { id: '103', viewerMark: 'NONE', likeCount: 0, dislikeCount: 0 },
    ])
    expect(calls).toEqual({ marks: 1, counts: 1 })
  })

  test('reads nothing for fields that are not requested', async () => {
    await ask('query($ids: [ID!]!) { subjects(business: "video", ids: $ids) { id } }')
    expect(calls).toEqual({ marks: 0, counts: 0 })
    await ask('query($ids: [ID!]!) { subjects(business: "video", ids: $ids) { viewerMark } }')
    expect(calls).toEqual({ marks: 1, counts: 0 })
  })

  test('has counts for an anonymous caller without a read of marks, and no own mark', async () => {
    const { data, errors } = await ask('query($ids: [ID!]!) { subjects(business: "video", ids: $ids) { likeCount viewerMark } }', null)
    expect(data.subjects[1]).toEqual({ likeCount: 0, viewerMark: null })
    expect(errors[0].extensions.code).toBe('UNAUTHENTICATED')
    expect(calls).toEqual({ marks: 0, counts: 1 })
  })

  test('has the same answer through fragments, and reads the fields that a condition hides', async () => {
    const plain = await ask('query($ids: [ID!]!) { subjects(business: "video", ids: $ids) { viewerMark likeCount dislikeCount } }')
    const text = `query($ids: [ID!]!, $on: Boolean!) { subjects(business: "video", ids: $ids) { ...States ... on Video @include(if: $on) { likeCount } dislikeCount @include(if: $on) } }
      fragment States on Subject { viewerMark }`
    expect((await ask(text, viewer, { on: true })).data).toEqual(plain.data)
    Object.assign(calls, { marks: 0, counts: 0 })
    expect((await ask(text, viewer, { on: false })).data.subjects[1]).toEqual({ viewerMark: 'LIKE' })
    expect(calls).toEqual({ marks: 1, counts: 0 })
  })
})
