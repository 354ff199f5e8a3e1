/**
 * The remote transport reaches a subgraph over HTTP: GraphQL over HTTP by POST, on persistent connections.
 *
 *   subgraph-client.ts   one call: its tries, its breaker, its errors
 *   call-failure.ts      the errors of a call
 *   http-call.ts         one request, bounded in time and bytes
 *   answer.ts            reads a GraphQL result from the answer
 *   answer-scanner.ts    reads it faster, without decoding
 *   single-flight.ts     identical queries under way share one call; a mutation ends that
 *   subgraph-breaker.ts  requests do not wait for a subgraph that is down
 *   event-stream.ts      subscriptions, over server-sent events
 *   variables-json.ts    writes the variables
 *
 * A query is tried again if the connection fails, or if a proxy or the subgraph itself answers 502, 503 or 504. A subgraph that drains, for
 * example, sends a GraphQL result with 503. Tries follow after a random pause, as long as the time allows. A mutation is never tried again,
 * because the first try may have taken effect. If a client goes away, its calls continue: others may have joined the call, and a mutation
 * cannot be undone.
 *
 * A failed call is a SUBGRAPH_UNAVAILABLE with a message that names the subgraph but no address. Its cause, with the address, goes to
 * `report` for the log. Errors in a subgraph's answer are marked as remote: see remote-error.ts.
 */
import { Pool } from 'undici'
import type { Clock } from '../../core/clock.ts'
import { systemClock } from '../../core/clock.ts'
import type { Random } from '../../core/random.ts'
import { systemRandom } from '../../core/random.ts'
import { isPromise } from '../execution/run.ts'
import { makeSubgraphClient } from './subgraph-client.ts'
import type { CallReport } from './subgraph-client.ts'
import { readAnswer, readEscaped, type ReadAnswer } from './answer.ts'
import { compileScanner } from './answer-scanner.ts'
import { makeSharedFetches } from './shared-fetches.ts'
import { makeSingleFlight } from './single-flight.ts'
import type { CompiledFetch, FetchOperation, FetchResult, FetchVariables, Transport } from './transport.ts'
import { variablesJson } from './variables-json.ts'

export type Headers = Readonly<Record<string, string>>

export type RemoteOptions = {
  /** The subgraph's name in the supergraph. */
  name: string
  /** http: or https:. */
  url: string
  /** Headers that an answer may depend on, such as the viewer's. Queries with different ones never share a call. Default none. */
  headers?: (context: object) => Headers | Promise<Headers>
  /** Headers that no answer depends on (`traceparent`). A shared call has those of its first query. Default none. */
  traceHeaders?: (context: object) => Headers
  /** Milliseconds for a whole answer, with all tries. Minimum 1. Default 5000. */
  timeoutMs?: number
  /** Further tries of a query. Minimum 0. Default 2. */
  retries?: number
  /** Maximum bytes of an answer, or of one event of a subscription. Minimum 1. Default 8 MiB. */
  bodyBytesMax?: number
  /** Connections for queries and mutations. Each subscription has its own. Minimum 1. Default 64. */
  connectionsMax?: number
  /** Queries sent on one connection before the first is answered. Minimum 1. Default 1. */
  pipelining?: number
  /** Whether identical queries under way share one call. Default true. */
  dedupe?: boolean
  /** Consecutive calls without an answer after which the subgraph counts as down. Minimum 1. Default 5. */
  failuresMax?: number
  /** Milliseconds between two checks of a subgraph that is down. Minimum 1. Default 1000. */
  checkEveryMs?: number
  /** Called at the end of every call. It must not throw. */
  report?: (call: CallReport) => void
  clock?: Clock
  random?: Random
}

export type RemoteTransport = Transport & {
  /** Queries that joined another query's call. */
  joined(): number
  /** True while calls are refused because the subgraph does not answer. */
  isDown(): boolean
  /**
   * Ends subscriptions, waits for running calls, and closes the connections. Call it when no operation uses the transport any more:
   * later calls fail.
   */
  close(): Promise<void>
}

export const REMOTE_DEFAULTS = {
  timeoutMs: 5_000,
  retries: 2,
  bodyBytesMax: 8_388_608,
  connectionsMax: 64,
  pipelining: 1,
  dedupe: true,
  failuresMax: 5,
  checkEveryMs: 1_000,
} as const

const ACCEPT = 'application/graphql-response+json, application/json'
const NO_HEADERS: Headers = Object.freeze({})

export function remoteTransport(given: RemoteOptions): RemoteTransport {
  const options = { ...REMOTE_DEFAULTS, clock: systemClock, random: systemRandom, ...given }
  const url = new URL(options.url)
  const path = url.pathname + url.search
  // Calls have their own limits. The connection timeout is shorter, so that time is left for another try.
  const limits = { headersTimeout: 0, bodyTimeout: 0, connectTimeout: Math.max(1, Math.floor(options.timeoutMs / 2)), allowH2: false }
  const pool = new Pool(url.origin, { ...limits, connections: options.connectionsMax, pipelining: options.pipelining })
  const streams = new Pool(url.origin, { ...limits, connections: null, pipelining: 1 })
  const probe = { path, headers: headersOf(ACCEPT, []), body: '{"query":"{ __typename }"}', idempotent: true }
  const client = makeSubgraphClient(pool, streams, probe, options)
  const flights = makeSingleFlight()
  const shared = makeSharedFetches()
  let joined = 0
  let closed: Promise<void> | undefined

  async function close(): Promise<void> {
    client.stop()
    await Promise.all([pool.close(), streams.destroy()])
  }

  function compile({ kind, name, text, document }: FetchOperation): CompiledFetch {
    const named = name === undefined ? '' : `,"operationName":${JSON.stringify(name)}`
    const start = `{"query":${JSON.stringify(text)}${named},"variables":`
    const isQuery = kind === 'query'
    let escaped: ReadAnswer | undefined

    function sendWith(body: string, headers: Headers, context: object, read: ReadAnswer): Promise<FetchResult> {
      const keyed = flat(headers)
      const begin = (): Promise<FetchResult> => {
        const traced = options.traceHeaders === undefined ? keyed : [...keyed, ...flat(options.traceHeaders(context))]
        return client.send(kind, { path, headers: headersOf(ACCEPT, traced), body, idempotent: isQuery }, read)
      }
      if (!isQuery) return begin().finally(flights.nextGeneration)
      if (!options.dedupe) return begin()
      // Both kinds of trees may be asked for at once.
      const key = [body, ...keyed, ...(read === readAnswer ? ['tree'] : [])].join('\n')
      return flights.join(key, begin, () => (joined += 1))
    }

    const callOf = (variables: FetchVariables): string => `${start}${variablesJson(variables, document)}}`

    function send(variables: FetchVariables, context: object, read: ReadAnswer): Promise<FetchResult> {
      const headers = options.headers?.(context) ?? NO_HEADERS
      const body = callOf(variables)
      return isPromise(headers) ? headers.then((known) => sendWith(body, known, context, read)) : sendWith(body, headers, context, read)
    }

    return {
      run: (variables, context) => send(variables, context, readAnswer),
      runEscaped: (variables, context) => send(variables, context, (escaped ??= readEscaped(compileScanner(document)))),
      async subscribe(variables, context) {
        const headers = { ...(await options.headers?.(context)), ...options.traceHeaders?.(context) }
        return client.open({ path, headers: headersOf('text/event-stream', flat(headers)), body: callOf(variables), idempotent: false })
      },
    }
  }

  return {
    remote: true,
    compile(operation) {
      return shared(`${operation.kind} ${operation.name ?? ''} ${operation.text}`, () => ({ fetch: compile(operation) }))
    },
    joined: () => joined,
    isDown: client.isDown,
    close: () => (closed ??= close()),
  }
}

function headersOf(accept: string, others: readonly string[]): string[] {
  return ['content-type', 'application/json', 'accept', accept, ...others]
}

/** Names and values alternate. Values have no line breaks, so that a line break can separate them. */
function flat(headers: Headers): string[] {
  const list: string[] = []
  for (const name of Object.keys(headers)) list.push(name, headers[name] ?? '')
  return list
}
