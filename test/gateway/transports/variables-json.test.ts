/** Variables that JSON.parse accepts, and JSON.stringify does not. */
import { parse } from 'graphql'
import { describe, expect, onTestFinished, test } from 'vitest'
import { composeSupergraph } from '../../../gateway/supergraph/compose.ts'
import { makeEngine } from '../../../gateway/operation/engine.ts'
import { variablesJson } from '../../../gateway/transports/variables-json.ts'
import { startServer, type GraphQLAnswer } from '../../support/front-schema.ts'
import { connectTo, json, startSubgraph } from './http-subgraph.ts'

const LEVELS = 30_000
const DEEP = `${'['.repeat(LEVELS)}${']'.repeat(LEVELS)}`
const ITEMS = `extend schema @link(url: "https://specs.apollo.dev/federation/v2.9", import: ["@key"])
  scalar Any type Query { item: Item find(by: Any): Item name: String } type Item @key(fields: "id") { id: ID! }
  type Mutation { change(by: Any): Int } type Subscription { changed(by: Any): Int }`
const SCORES = `extend schema @link(url: "https://specs.apollo.dev/federation/v2.9", import: ["@key"])
  scalar Any type Item @key(fields: "id") { id: ID! score(by: Any): Int } type Query { scores: Int }`

async function start() {
  const items = await startSubgraph((_, response) => json(response, { data: { item: { __typename: 'Item', id: '1' }, name: 'n' } }))
  const scores = await startSubgraph((_, response) => json(response, { data: { _entities: [{ score: 1 }] } }))
  const supergraph = composeSupergraph([
    { name: 'items', sdl: ITEMS },
    { name: 'scores', sdl: SCORES },
  ])
  const transports = [
    { name: 'items', transport: connectTo(items) },
    { name: 'scores', transport: connectTo(scores) },
  ]
  const server = await startServer({ engine: makeEngine(supergraph, transports, { tokensMax: 1_000 }), mode: 'production', auth: AUTH })
  onTestFinished(server.close)
  return { server, items, scores }
}

const AUTH = { secret: 'a secret of at least thirty-two bytes' }

describe('a variable of a remote subgraph that is nested too deeply', () => {
  const ERROR = {
    message: 'the variable "by" is nested too deeply: send flatter variables',
    extensions: { code: 'BAD_REQUEST' },
  }

  test.each([
    ['query ($by: Any) { find(by: $by) { id } }', { find: null }, ['find'], { items: 0, scores: 0 }],
    ['query ($by: Any) { item { score(by: $by) } name }', { item: { score: null }, name: 'n' }, ['item'], { items: 1, scores: 0 }],
    ['mutation ($by: Any) { change(by: $by) }', { change: null }, ['change'], { items: 0, scores: 0 }],
  ])('gives BAD_REQUEST and no line in the log, and the subgraph is not called: %s', async (query, data, path, calls) => {
    const { server, items, scores } = await start()
    const answer = await fetch(`${server.url}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: `{"query":${JSON.stringify(query)},"variables":{"by":${DEEP}}}`,
    })
    expect((await answer.json()) as GraphQLAnswer).toMatchObject({ data, errors: [{ ...ERROR, path }] })
    expect(server.logged.filter(({ level }) => Number(level) > 30)).toEqual([])
    expect({ items: items.received.length, scores: scores.received.length }).toEqual(calls)
  })

  test('gives BAD_REQUEST to a subscription', async () => {
    const { server } = await start()
    const answer = await fetch(`${server.url}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'text/event-stream' },
      body: `{"query":"subscription ($by: Any) { changed(by: $by) }","variables":{"by":${DEEP}}}`,
    })
    expect(await answer.text()).toContain('"code":"BAD_REQUEST"')
  })
})

test('representations that are nested too deeply are no mistake of the client', () => {
  const document = parse('query ($representations: [_Any!]!, $by: Any) { _entities(representations: $representations) { __typename } }')
  const variables = { representations: [{ id: JSON.parse(DEEP) as unknown }], by: [1] }
  expect(() => variablesJson(variables, document)).toThrow(RangeError)
  expect(() => variablesJson({ ...variables, by: JSON.parse(DEEP) as unknown }, document)).toThrow('the variable "by" is nested too deeply')
})
