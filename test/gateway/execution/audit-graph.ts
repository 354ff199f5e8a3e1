/**
 * Small federated graphs for tests of common mistakes of gateways. Each query is answered twice: with the subgraphs in this process,
 * and with each of them alone on Apollo Server behind HTTP. Both answers must be equal.
 */
import { buildSubgraphSchema } from '@apollo/subgraph'
import { parse } from 'graphql'
import type { ExecutionResult, GraphQLSchema } from 'graphql'
import { expect } from 'vitest'
import { composeSupergraph } from '../../../gateway/supergraph/compose.ts'
import { makeEngine } from '../../../gateway/operation/engine.ts'
import { localTransport } from '../../../gateway/transports/local-transport.ts'
import { remoteTransport } from '../../../gateway/transports/remote-transport.ts'
import type { Transport } from '../../../gateway/transports/transport.ts'
import { jsonOf } from '../engine-graph.ts'
import { startAlone } from '../../support/standalone.ts'

type Resolver = (parent: any, args: any) => unknown
export type Part = { sdl: string; resolvers?: Record<string, Record<string, Resolver>> }

const HEAD = `extend schema @link(url: "https://specs.apollo.dev/federation/v2.5", import: ["@key", "@external", "@requires",
  "@provides", "@shareable", "@override", "@inaccessible", "@interfaceObject", "@tag"])\n`

/** Federation 1 has no @link. Such a subgraph sets `v1: true`. */
export type Parts = Readonly<Record<string, Part & { v1?: boolean }>>

/** The answer as JSON. Both requests have these `variables`. */
export async function ask(parts: Parts, query: string, variables: Record<string, unknown> = {}): Promise<ExecutionResult> {
  const built = Object.entries(parts).map(([name, { sdl, resolvers = {}, v1 = false }]) => {
    const full = v1 ? sdl : HEAD + sdl
    return { name, sdl: full, schema: buildSubgraphSchema([{ typeDefs: parse(full), resolvers: resolvers as never }]) }
  })
  const supergraph = composeSupergraph(built)
  const local = await answer(
    supergraph,
    built.map(({ name, schema }) => ({ name, transport: localTransport(schema) })),
    query,
    variables,
  )
  const remote = await withServers(built, (subgraphs) => answer(supergraph, subgraphs, query, variables))
  expect(remote.data, 'remote and local subgraphs give the same data').toEqual(local.data)
  expect(pathsOf(remote), 'and errors at the same places').toEqual(pathsOf(local))
  return local
}

type Subgraphs = { name: string; transport: Transport }[]

async function answer(
  supergraph: string,
  subgraphs: Subgraphs,
  query: string,
  variables: Record<string, unknown>,
): Promise<ExecutionResult> {
  const prepared = makeEngine(supergraph, subgraphs, { tokensMax: 10_000 }).prepare(query)
  const json = 'errors' in prepared ? JSON.stringify(prepared) : await jsonOf(prepared, variables, {})
  return JSON.parse(json) as ExecutionResult
}

async function withServers<T>(
  parts: readonly { name: string; schema: GraphQLSchema }[],
  act: (subgraphs: Subgraphs) => Promise<T>,
): Promise<T> {
  const started = await Promise.all(
    parts.map(async ({ name, schema }) => {
      const server = await startAlone(schema)
      return { name, server, transport: remoteTransport({ name, url: server.url }) }
    }),
  )
  try {
    return await act(started)
  } finally {
    await Promise.all(started.map(({ transport }) => transport.close()))
    await Promise.all(started.map(({ server }) => server.stop()))
  }
}

function pathsOf({ errors = [] }: ExecutionResult): string[] {
  return errors.map(({ path = [] }) => path.join('.')).sort()
}
