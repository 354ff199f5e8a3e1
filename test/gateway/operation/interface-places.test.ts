import { buildSubgraphSchema } from '@apollo/subgraph'
import { parse } from 'graphql'
import { expect, test } from 'vitest'
import { makeEngine } from '../../../gateway/operation/engine.ts'
import { composeSupergraph } from '../../../gateway/supergraph/compose.ts'
import { localTransport } from '../../../gateway/transports/local-transport.ts'

const HEAD = 'extend schema @link(url: "https://specs.apollo.dev/federation/v2.9", import: ["@key"])\n'
const types = (count: number, field: string) =>
  Array.from({ length: count }, (_, at) => `type T${at} implements Thing @key(fields: "id") { id: ID! ${field} }`).join('\n')
/** An interface with this many types, and fields of two subgraphs. */
function engineOf(count: number) {
  const subgraphs = [
    { name: 'a', sdl: `${HEAD} type Query { thing: Thing } interface Thing { id: ID! a: Int } ${types(count, 'a: Int')}` },
    { name: 'b', sdl: `${HEAD} interface Thing { id: ID! b: Int } ${types(count, 'b: Int')}` },
  ].map(({ name, sdl }) => ({ name, sdl, transport: localTransport(buildSubgraphSchema(parse(sdl))) }))
  return makeEngine(composeSupergraph(subgraphs), subgraphs, { tokensMax: 5_000 })
}

const FIELD = 'thing { id a b }'
const aliased = (count: number) => Array.from({ length: count }, (_, at) => `x${at}: ${FIELD}`).join(' ')
const codes = (made: object) =>
  'errors' in made ? (made.errors as { extensions: { code?: string } }[]).map(({ extensions }) => extensions.code) : 'prepared'

test('an operation with interface fields in too many places is refused before it is planned', () => {
  const engine = engineOf(20)
  expect(codes(engine.prepare(`{ ${aliased(20)} }`))).toBe('prepared')
  expect(codes(engine.prepare(`{ ${aliased(21)} }`))).toEqual(['OPERATION_TOO_LARGE'])
  expect(codes(engine.prepare(`{ ...A ...B } fragment A on Query { ${aliased(20)} } fragment B on Query { y: ${FIELD} }`))).toEqual([
    'OPERATION_TOO_LARGE',
  ])
  expect(codes(engine.prepare(`query ($in: Boolean!) { ${aliased(20)} ... @include(if: $in) { y: ${FIELD} } }`))).toEqual([
    'OPERATION_TOO_LARGE',
  ])
})

test('the places are counted per possible type', () => {
  expect(codes(engineOf(4).prepare(`{ ${aliased(100)} }`))).toBe('prepared')
  expect(codes(engineOf(5).prepare(`{ ${aliased(81)} }`))).toEqual(['OPERATION_TOO_LARGE'])
})
