import { expect, test } from 'vitest'
import { composeSupergraph } from '../../../gateway/supergraph/compose.ts'
import { makeEngine } from '../../../gateway/operation/engine.ts'
import { ask } from '../engine-graph.ts'
import { connectTo, json, startSubgraph } from '../transports/http-subgraph.ts'

const SDL = 'scalar Json type Query { settings: Json limits: Json name: String }'

test('a scalar that is nested too deeply is null with an error, and the rest is answered', async () => {
  const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`
  const subgraph = await startSubgraph((_, response) =>
    json(response, `{"data":{"settings":${deep},"limits":{"a":[{"b":null}]},"name":"x"}}`),
  )
  const engine = makeEngine(composeSupergraph([{ name: 'one', sdl: SDL }]), [{ name: 'one', transport: connectTo(subgraph) }], {
    tokensMax: 100,
  })
  const { data, errors } = await ask(engine, '{ settings limits name }')
  expect(data).toEqual({ settings: null, limits: { a: [{ b: null }] }, name: 'x' })
  expect(errors).toMatchObject([{ path: ['settings'] }])
})
