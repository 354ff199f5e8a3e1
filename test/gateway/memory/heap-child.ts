/**
 * Prepares operations of one kind in a separate process: `node --expose-gc heap-child.ts KIND COUNT`. Prints two figures in bytes per
 * operation: the estimate of the memory, and the growth of the heap after a collection.
 */
import { buildSubgraphSchema } from '@apollo/subgraph'
import { parse } from 'graphql'
import { setTimeout as sleep } from 'node:timers/promises'
import { getHeapStatistics } from 'node:v8'
import { makeConfig } from '../../../config/config.ts'
import { composeSupergraph } from '../../../gateway/supergraph/compose.ts'
import { makeEngine } from '../../../gateway/operation/engine.ts'
import { makeClientMemory } from '../../../gateway/memory/client-memory.ts'
import { localTransport } from '../../../gateway/transports/local-transport.ts'
import type { Transport } from '../../../gateway/transports/transport.ts'
import { existenceSdl } from '../../../subgraphs/feed-existence/schema.ts'
import { historySdl } from '../../../subgraphs/history/schema.ts'
import { thumbupSdl } from '../../../subgraphs/thumbup/schema.ts'

const CONDITIONS = 4
const range = (count: number, of: (at: number) => string) => Array.from({ length: count }, (_, at) => of(at)).join(' ')
const variables = range(CONDITIONS, (at) => `$v${at}: Boolean!`)
const SUBJECT =
  '... on Video { id likeCount viewerMark viewerSeen likers(first: 1) { edges { node { id } } } } ... on Article { id likeCount viewerSeen } ... on Comic { id likeCount viewerMark }'
const ENTRY = `edges { node { business viewerProgress { position duration viewedAt device finished } ${SUBJECT} } }`

/** `runs`: each operation runs this many times, with this many combinations of its conditions. */
const KINDS: Readonly<Record<string, { text(index: number): string; runs: number; combinations: number }>> = {
  small: { text: (index) => `query S${index} { subjects(business: "video", ids: ["1"]) { id likeCount } }`, runs: 1, combinations: 1 },
  page: {
    text: (index) =>
      `query P${index} { viewerHistory(first: 5) { edges { node { id viewerProgress { position } ... on Video { likeCount viewerMark viewerSeen } } } pageInfo { endCursor hasNextPage } } historySettings { paused } }`,
    runs: 1,
    combinations: 1,
  },
  large: { text: (index) => publicText(index), runs: 1, combinations: 1 },
  entities: {
    text: (index) => `query E${index} { ${range(33, (at) => `h${index}_${at}: viewerHistory(first: 1) { ${ENTRY} }`)} }`,
    runs: 1,
    combinations: 1,
  },
  variants: { text: (index) => publicText(index, true), runs: 1, combinations: 2 ** CONDITIONS },
  fetches: { text: (index) => publicText(index), runs: 40, combinations: 1 },
}

function publicText(index: number, conditions = false): string {
  const fields = `business id likeCount dislikeCount ${'__typename '.repeat(5)}`
  const condition = (at: number) => (conditions ? `@include(if: $v${at % CONDITIONS})` : '')
  return `query N${index}${conditions ? `(${variables})` : ''} { ${range(90, (at) => `t${index}_${at}: subjects(business: "video", ids: ["${at}"]) ${condition(at)} { ${fields} }`)} }`
}

const FIELDS = 24
const LISTED = ['Film', 'Book', 'Song']
const fieldNames = (start: number, count: number) => range(count, (at) => `f${(start * 7 + at * 5) % FIELDS}`)

const FETCHES: Readonly<Record<string, (index: number) => string>> = {
  calls: (index) =>
    `query C${index}($r: [_Any!]!) { _entities(representations: $r) { ... on Thing { ${fieldNames(index, 12)} of { ${fieldNames(index + 1, 12)} } } } }`,
  lists: (index) => `query L${index}($r: [ID!]!) { list(ids: $r) { __typename ${fieldNames(index, 12)} } }`,
}
const REPRESENTATIONS = [1, 2, 3].map((id) => ({ __typename: 'Thing', id, of: {} }))

/** Each call compiles and runs a fetch of other fields. The fetches are kept, because the transport refers to them weakly. */
function useFetches(transport: Transport, textOf: (index: number) => string): (index: number) => Promise<void> {
  const kept: unknown[] = []
  return async (index) => {
    const text = textOf(index)
    const fetch = transport.compile({ kind: 'query', name: undefined, text, document: parse(text, { noLocation: true }) })
    for (let run = 0; run < 40; run += 1) await fetch.run({ r: text.includes('_Any') ? REPRESENTATIONS : ['1', '2', '3'] }, {})
    kept.push(fetch)
  }
}

function thingSchema() {
  const fields = range(FIELDS, (at) => `f${at}: Int`)
  const typeDefs = parse(`extend schema @link(url: "https://specs.apollo.dev/federation/v2.9", import: ["@key"])
    type Query { list(ids: [ID!]!): [Listed] } type Thing @key(fields: "id") { id: ID! of: Part ${fields} } type Part { ${fields} }
    interface Listed { ${fields} } ${LISTED.map((type) => `type ${type} implements Listed { ${fields} }`).join(' ')}`)
  const resolvers = Object.fromEntries(Array.from({ length: FIELDS }, (_, at) => [`f${at}`, () => Promise.resolve(at)]))
  const list = (_: unknown, { ids }: { ids: string[] }) => ids.map((_id, at) => ({ __typename: LISTED[at] }))
  const listed = Object.fromEntries(LISTED.map((type) => [type, resolvers]))
  return buildSubgraphSchema([{ typeDefs, resolvers: { Query: { list }, Thing: resolvers, ...listed } as never }])
}

const [name = '', given = ''] = process.argv.slice(2)
const kind = KINDS[name]
const fetchText = FETCHES[name]
if (kind === undefined && fetchText === undefined) throw new Error(`there is no kind "${name}"`)
const { businesses } = makeConfig([])
const sdls = [
  { name: 'history', sdl: historySdl(businesses) },
  { name: 'thumbup', sdl: thumbupSdl(businesses) },
  { name: 'feed-existence', sdl: existenceSdl(businesses) },
]
const memory = makeClientMemory(1e12)
const subgraphs = sdls.map(({ name: subgraph, sdl }) => {
  return { name: subgraph, transport: localTransport(buildSubgraphSchema([{ typeDefs: parse(sdl) }]), { memory }) }
})
const engine = makeEngine(composeSupergraph(sdls), subgraphs, { tokensMax: 5_000, memory })

async function use(index: number, { text, runs, combinations }: (typeof KINDS)[string]): Promise<void> {
  const prepared = engine.prepare(text(index))
  if ('errors' in prepared) throw prepared.errors[0]
  for (let combination = 0; combination < combinations; combination += 1) {
    const values = Object.fromEntries(Array.from({ length: CONDITIONS }, (_, at) => [`v${at}`, (combination & (1 << at)) !== 0]))
    for (let run = 0; run < runs; run += 1) await prepared.execute(values, { viewer: { id: '1', scopes: [] } })
  }
}

async function heapBytes(): Promise<number> {
  for (let round = 0; round < 4; round += 1) {
    globalThis.gc?.()
    await sleep(10)
  }
  return getHeapStatistics().used_heap_size + process.memoryUsage().external
}

const useOne =
  fetchText === undefined
    ? (index: number) => use(index, kind as (typeof KINDS)[string])
    : useFetches(localTransport(thingSchema(), { memory }), fetchText)
for (let index = 0; index < 3; index += 1) await useOne(1_000_000 + index)
const count = Number(given)
const before = { heap: await heapBytes(), estimated: memory.figures().bytes }
for (let index = 0; index < count; index += 1) await useOne(index)
const after = { heap: await heapBytes(), estimated: memory.figures().bytes }
console.log(
  JSON.stringify({
    measured: (after.heap - before.heap) / count,
    estimated: (after.estimated - before.estimated) / count,
    kinds: memory.figures().kinds,
  }),
)
