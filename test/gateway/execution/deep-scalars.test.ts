import { expect, test } from 'vitest'
import { composeSupergraph } from '../../../gateway/supergraph/compose.ts'
import { makeEngine } from '../../../gateway/operation/engine.ts'
import { ask } from '../engine-graph.ts'
import { connectTo, json, startSubgraph } from '../transports/http-subgraph.ts'

const DEEP = `${'['.repeat(100_000)}${']'.repeat(100_000)}`
const SDL = 'scalar Json type Query { settings: Json limits: Json name: String }'

test('a scalar that is nested too deeply is null with an error, and the rest is answered', async () => {
  const subgraph = await startSubgraph((_, response) =>
    json(response, `{"data":{"settings":${DEEP},"limits":{"a":[{"b":null}]},"name":"x"}}`),
  )
  const engine = makeEngine(composeSupergraph([{ name: 'one', sdl: SDL }]), [{ name: 'one', transport: connectTo(subgraph) }], {
    tokensMax: 100,
  })
  const { data, errors } = await ask(engine, '{ settings limits name }')
  expect(data).toEqual({ settings: null, limits: { a: [{ b: null }] }, name: 'x' })
  expect(errors).toMatchObject([{ path: ['settings'] }])
})

test('lists that two subgraphs nest endlessly into each other are null with an error', async () => {
  const link = 'extend schema @link(url: "https://specs.apollo.dev/federation/v2.5", import: ["@key", "@shareable"])\n'
  const item = (field: string) =>
    `${link} type Item @key(fields: "id") { id: ID! parts: [Part!] @shareable } type Part @shareable { ${field}: Int }`
  const sdls = {
    items: `${link} type Query { item: Item } type Item @key(fields: "id") { id: ID! }`,
    first: item('one'),
    second: item('two'),
  }
  const subgraphs = await Promise.all(
    Object.keys(sdls).map(async (name) => {
      const data = name === 'items' ? '{"item":{"__typename":"Item","id":"1"}}' : `{"_entities":[{"parts":${DEEP}}]}`
      return { name, transport: connectTo(await startSubgraph((_, response) => json(response, `{"data":${data}}`))) }
    }),
  )
  const engine = makeEngine(composeSupergraph(Object.entries(sdls).map(([name, sdl]) => ({ name, sdl }))), subgraphs, { tokensMax: 100 })
  const { data, errors } = await ask(engine, '{ item { id parts { one two } } }')
  expect(data).toEqual({ item: { id: '1', parts: null } })
  expect(errors?.map(({ extensions }) => extensions?.['code'])).toContain('SUBGRAPH_UNAVAILABLE')
})
