/**
 * One server of the feed benchmark, in its own process: `node bench/gateway/feed-server.ts ceiling|engine|gateway`. It reports
 * the port to its parent, answers `usage` with its CPU time so far, and ends with the parent.
 */
import { createServer } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { parse } from 'graphql'
import { compileQuery, isCompiledQuery } from 'graphql-jit'
import type { CompiledQuery } from 'graphql-jit'
import { boundGarbage, makeAllYoung } from '../../cli/process/heap.ts'
import { makeConfig } from '../../config/config.ts'
import { makeEngine } from '../../gateway/operation/engine.ts'
import type { Engine } from '../../gateway/operation/engine.ts'
import { localTransport } from '../../gateway/transports/local-transport.ts'
import { reportToParent } from './feed-child.ts'
import { feedSubgraphs, feedSupergraph, makeFeedContext, mergedFeedSchema } from './feed-graph.ts'

type Answer = (query: string, variables: Record<string, unknown> | undefined) => Promise<string>

async function start(kind: 'ceiling' | 'engine' | 'gateway'): Promise<string> {
  if (kind === 'gateway') return startGateway()
  return serveBare(kind === 'ceiling' ? ceilingAnswer() : engineAnswer(feedEngine()))
}

/** graphql-jit on one merged schema, compiled once per text: the fastest GraphQL in JavaScript without a plan. */
function ceilingAnswer(): Answer {
  const schema = mergedFeedSchema()
  const compiled = new Map<string, CompiledQuery>()
  return async (query, variables) => {
    let operation = compiled.get(query)
    if (operation === undefined) {
      const result = compileQuery(schema, parse(query))
      if (!isCompiledQuery(result)) throw new Error('the merged schema does not compile the query')
      operation = result
      compiled.set(query, operation)
    }
    return operation.stringify(await operation.query(undefined, makeFeedContext(), variables))
  }
}

function feedEngine(): Engine {
  const subgraphs = feedSubgraphs().map(({ name, schema }) => ({ name, transport: localTransport(schema) }))
  return makeEngine(feedSupergraph(), subgraphs, { tokensMax: 5_000 })
}

function engineAnswer(engine: Engine): Answer {
  return async (query, variables) => {
    const operation = engine.prepare(query)
    if ('errors' in operation) throw new Error(operation.errors.map(({ message }) => message).join('\n'))
    return JSON.stringify(await operation.execute(variables, makeFeedContext()))
  }
}

function serveBare(answer: Answer): Promise<string> {
  const server = createServer((request, response) => {
    void readBody(request).then((body) => respond(body, answer, response))
  })
  return new Promise((resolve) =>
    server.listen(0, '127.0.0.1', () => resolve(`http://127.0.0.1:${(server.address() as AddressInfo).port}/graphql`)),
  )
}

function readBody(request: IncomingMessage): Promise<string> {
  return new Promise((resolve) => {
    let body = ''
    request.setEncoding('utf8')
    request.on('data', (chunk: string) => (body += chunk))
    request.on('end', () => resolve(body))
  })
}

async function respond(body: string, answer: Answer, response: ServerResponse): Promise<void> {
  const { query, variables } = JSON.parse(body) as { query: string; variables?: Record<string, unknown> }
  const text = await answer(query, variables)
  response.writeHead(200, { 'content-type': 'application/json; charset=utf-8', 'content-length': Buffer.byteLength(text) })
  response.end(text)
}

async function startGateway(): Promise<string> {
  const { startFeedGateway } = await import('./feed-gateway.ts')
  return startFeedGateway(feedEngine())
}

const kind = process.argv[2]
// `tidemark start` does this; for a fair comparison the ceiling does it too.
boundGarbage(makeConfig([]).server.garbagePercent)
makeAllYoung()
if (kind === 'ceiling' || kind === 'engine' || kind === 'gateway') reportToParent(await start(kind))
