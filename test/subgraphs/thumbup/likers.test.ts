/** A viewer who reads the likers of a subject sees their own current like, for hot subjects and during concurrent reads. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { getOperationAST, parse } from 'graphql'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { readCostRules } from '../../../gateway/limits/cost-rules.ts'
import { compileCost } from '../../../gateway/limits/operation-cost.ts'
import { until } from '../../../harness/until.ts'
import { openMarkedStores, serveThumbup, thumbupConfig, viewerOf, type MarkedStores, type ServedThumbup } from './marked-stores.ts'

const COUNT = '{ subjects(business: "video", ids: ["hot"]) { likeCount } }'
const LIKERS = '{ subjects(business: "video", ids: ["hot"]) { likers(first: 10) { edges { node { id } } } } }'

let stores: MarkedStores
let running: { stop(): Promise<void> }[]
beforeEach(() => {
  stores = openMarkedStores({ records: 'lmdb' })
  running = []
})
afterEach(async () => {
  for (const each of running) await each.stop()
  await stores.close()
})

const config = (hotTtlMs: number) => thumbupConfig({ thumbup: { flushAgeMaxMs: 5, windowMs: 20, sweepAfterMs: 60_000, hotTtlMs } })

/** Two processes: one that is asked, and one that persists. */
async function serve(hotTtlMs: number): Promise<ServedThumbup> {
  const asked = serveThumbup(stores, config(hotTtlMs), { journal: false })
  const persists = serveThumbup(stores, config(hotTtlMs), { journal: false })
  const job = await persists.subgraph.startJob()
  running.push(job, asked, persists)
  return asked
}

const likersFor = async (asked: ServedThumbup, viewer: string): Promise<string[]> =>
  (await asked.ask(LIKERS, viewerOf(viewer))).data.subjects[0].likers.edges.map((edge: any) => edge.node.id)
const mark = (asked: ServedThumbup, viewer: string, mark: string) =>
  asked.ask(`mutation { setMark(input: { business: "video", id: "hot", mark: ${mark} }) { outcome } }`, viewerOf(viewer))
const strangers = (asked: ServedThumbup) => Promise.all(Array.from({ length: 200 }, () => asked.ask(COUNT)))
const settled = () => until('everything is persisted', async () => (await stores.plain.hot.countDirtyMarks()) === 0)

test('a viewer who likes a hot subject stays among its likers when another process has persisted the like', async () => {
  // A minute: the local copy of a hot subject stays old for the whole test.
  const asked = await serve(60_000)
  await strangers(asked)
  await likersFor(asked, '7')
  await mark(asked, '7', 'LIKE')
  expect(await likersFor(asked, '7')).toEqual(['7'])
  await settled()
  expect(await likersFor(asked, '7')).toEqual(['7'])
  await mark(asked, '7', 'NONE')
  await settled()
  expect(await likersFor(asked, '7')).toEqual([])
})

test('the likers of a hot subject are read from the stores for a viewer without marks in the hot store', async () => {
  const asked = await serve(60_000)
  await strangers(asked)
  await likersFor(asked, '8')
  await mark(asked, '7', 'LIKE')
  await settled()
  const { getMarkMany } = stores.stores.hot
  stores.stores.hot.getMarkMany = async (keys) => keys.map(() => ({ mark: 'NONE', counted: 'NONE', pending: false, older: 'truncated' }))
  try {
    expect(await likersFor(asked, '7')).toEqual(['7'])
  } finally {
    stores.stores.hot.getMarkMany = getMarkMany
  }
})

test('a page of likers that begins after a like is persisted has it, although an earlier load is still under way', async () => {
  const asked = await serve(0)
  await mark(asked, '1', 'LIKE')
  await settled()
  const { records } = stores.stores
  const { listLikers } = records
  let release: () => void = () => undefined
  const released = new Promise<void>((resolve) => (release = resolve))
  let loads = 0
  records.listLikers = async (...args) => {
    const found = await listLikers(...args)
    if (++loads === 1) await released
    return found
  }
  const slow = likersFor(asked, '8')
  await until('the slow one has read', () => loads === 1)
  await mark(asked, '7', 'LIKE')
  await settled()
  const before = stores.count('cache.getLikers')
  const later = [likersFor(asked, '9'), likersFor(asked, '9')]
  // Later loads would join the one under way.
  await until('they have asked for the cached list', () => stores.count('cache.getLikers') === before + 2)
  release()
  expect(await slow).toEqual(['1'])
  expect(await Promise.all(later)).toEqual([
    ['7', '1'],
    ['7', '1'],
  ])
  // At most the two of them.
  expect(loads).toBeLessThanOrEqual(3)
})

const MANY = 'query ($ids: [ID!]!) { subjects(business: "video", ids: $ids) { likers(first: 1) { edges { node { id } } } } }'
const idsOf = (count: number) => Array.from({ length: count }, (_, at) => `s${at}`)

test('the likers of many subjects are read in one batch, and subjects without likes need no read', async () => {
  const asked = await serve(0)
  await mark(asked, '7', 'LIKE')
  await settled()
  stores.calls.length = 0
  const answer = await asked.ask(MANY, viewerOf('7'), { ids: [...idsOf(199), 'hot'] })
  expect(answer.errors).toEqual([])
  expect(answer.data.subjects.map(({ likers }: any) => likers.edges.length)).toEqual([...idsOf(199).map(() => 0), 1])
  expect(['hot.getMarkMany', 'cache.getLikers', 'records.listLikers'].map(stores.count)).toEqual([1, 1, 1])
})

test('an operation that needs hundreds of pages of the record store is refused by its cost', () => {
  const served = serveThumbup(stores, config(0), { journal: false })
  running.push(served)
  const { server } = config(0)
  const rules = readCostRules(
    readFileSync(join(import.meta.dirname, '..', '..', '..', 'schema', 'supergraph.graphql'), 'utf8'),
    server.listSizeAssumed,
  )
  const costOf = (source: string, variables: Record<string, unknown>) => {
    const operation = getOperationAST(parse(source))
    return operation == null ? 0 : compileCost(served.subgraph.schema, operation, new Map(), rules)(variables)
  }
  const page = costOf(MANY, { ids: ['s'] })
  expect(server.operationCostMax / page).toBeLessThanOrEqual(250)
  expect(costOf(MANY, { ids: idsOf(200) })).toBeLessThanOrEqual(server.operationCostMax)
  const aliases = Array.from(
    { length: 12 },
    (_, at) => `a${at}: subjects(business: "video", ids: $ids) { likers(first: 1) { edges { node { id } } } }`,
  )
  expect(costOf(`query ($ids: [ID!]!) { ${aliases.join(' ')} }`, { ids: idsOf(200) })).toBeGreaterThan(server.operationCostMax)
  // The cost of a subscription is the number of subjects it follows.
  const changes = 'subscription ($ids: [ID!]!) { countsChanged(business: "video", ids: $ids) { subjects { id likeCount } } }'
  expect(costOf(changes, { ids: idsOf(200) })).toBe(201)
  const likes = Array.from(
    { length: 300 },
    (_, at) => `a${at}: thumbupUser { likes(business: "video", first: 1) { pageInfo { hasNextPage } } }`,
  )
  expect(costOf(`{ ${likes.join(' ')} }`, {})).toBeGreaterThan(server.operationCostMax)
})
