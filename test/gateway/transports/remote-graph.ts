/** The graph of test/gateway/engine-graph.ts with its subgraphs behind HTTP. */
import { execute, parse, subscribe } from 'graphql'
import type { ExecutionResult, GraphQLSchema } from 'graphql'
import type { RemoteOptions, RemoteTransport } from '../../../gateway/transports/remote-transport.ts'
import type { Engine } from '../../../gateway/operation/engine.ts'
import { NAMES, graphSchema, makeContext, openGraph } from '../engine-graph.ts'
import type { GraphContext, SubgraphName } from '../engine-graph.ts'
import { connectTo, json, startSubgraph } from './http-subgraph.ts'
import type { Handler, HttpSubgraph } from './http-subgraph.ts'

type Request = { query: string; variables: Record<string, unknown> }

export function serving(schema: GraphQLSchema, contextValue: GraphContext = makeContext()): Handler {
  return ({ body, headers }, response) => {
    const { query, variables } = JSON.parse(body) as Request
    const request = { schema, document: parse(query), variableValues: variables, contextValue }
    const answer = async (): Promise<void> => {
      if (headers.accept !== 'text/event-stream') return json(response, await execute(request))
      const stream = await subscribe(request)
      if (!(Symbol.asyncIterator in stream)) return json(response, stream)
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.on('close', () => void stream.return(undefined))
      for await (const event of stream) response.write(`event: next\ndata: ${JSON.stringify(event satisfies ExecutionResult)}\n\n`)
      response.end('event: complete\ndata:\n\n')
    }
    answer().catch((error: unknown) => response.writeHead(500).end(String(error)))
  }
}

export type RemoteGraph = {
  engine: Engine
  subgraphs: Record<SubgraphName, HttpSubgraph>
  transports: Record<SubgraphName, RemoteTransport>
}

/** `handlers` replace the answers of a subgraph. */
export async function openRemoteGraph(
  handlers: Partial<Record<SubgraphName, Handler>> = {},
  options: Partial<RemoteOptions> = {},
  context: GraphContext = makeContext(),
): Promise<RemoteGraph> {
  const started = await Promise.all(
    NAMES.map(async (name) => [name, await startSubgraph(handlers[name] ?? serving(graphSchema(name), context))] as const),
  )
  const subgraphs = Object.fromEntries(started) as Record<SubgraphName, HttpSubgraph>
  const connected = NAMES.map((name) => [name, connectTo(subgraphs[name], { name, ...options })] as const)
  const transports = Object.fromEntries(connected) as Record<SubgraphName, RemoteTransport>
  return { engine: openGraph((name) => transports[name]), subgraphs, transports }
}
