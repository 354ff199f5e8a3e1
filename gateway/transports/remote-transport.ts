/**
 * The remote transport reaches a subgraph over HTTP: GraphQL over HTTP by POST, on connections that are kept.
 *
 *   subgraph-client.ts   one call: its tries, its breaker, its errors
 *   call-failure.ts      the errors of a call
 *   http-call.ts         one request, bounded in time and bytes
 *   answer.ts            what came back, if it is a GraphQL result
 *   answer-cache.ts      bytes that came before are not parsed again
 *   single-flight.ts     identical queries under way are one call; a mutation ends that
 *   subgraph-breaker.ts  a subgraph that is down is not waited for
 *   event-stream.ts      subscriptions, over server-sent events
 *
 * Queries are tried again when the connection fails or a proxy says 502, 503 or 504, after a random pause, as long as the
 * time allows; mutations never, since nobody knows how far the first try came. Nothing here is cancelled when a client
 * goes away: others may have joined the call, and a mutation cannot be called back.
 *
 * What goes wrong is a SUBGRAPH_UNAVAILABLE whose message names the subgraph and never an address; the cause, which does,
 * goes to `report` for the log. Errors that a subgraph answers are marked as its own: see remote-error.ts.
 */
import { Pool } from 'undici'
import type { Clock } from '../../core/clock.ts'
import { systemClock } from '../../core/clock.ts'
import type { Random } from '../../core/random.ts'
import { systemRandom } from '../../core/random.ts'
import { makeClientMemory, type ClientMemory } from '../memory/client-memory.ts'
import { isPromise } from '../execution/run.ts'
import { makeSubgraphClient } from './subgraph-client.ts'
import type { CallReport } from './subgraph-client.ts'
import { ownResult } from './answer-cache.ts'
import { makeSharedFetches } from './shared-fetches.ts'
import { makeSingleFlight } from './single-flight.ts'
import type { CompiledFetch, FetchOperation, FetchVariables, Transport, Read } from './transport.ts'

export type { CallReport } from './subgraph-client.ts'

export type Headers = Readonly<Record<string, string>>

export type RemoteOptions = {
  /** The subgraph's name in the supergraph. */
  name: string
  /** http: or https:. */
  url: string
  /** Headers that an answer may depend on (who asks): queries with different ones are never one call. Default none. */
  headers?: (context: object) => Headers | Promise<Headers>
  /** Headers that no answer depends on (`traceparent`). A joined call carries those of the first. Default none. */
  traceHeaders?: (context: object) => Headers
  /** Milliseconds until an answer must be whole, all tries included. Minimum 1. Default 5000. */
  timeoutMs?: number
  /** Further tries of a query. Minimum 0. Default 2. */
  retries?: number
  /** Bytes an answer may have, or one event of a subscription. Minimum 1. Default 8 MiB. */
  bodyBytesMax?: number
  /** Connections for queries and mutations; a subscription has one of its own. Minimum 1. Default 64. */
  connectionsMax?: number
  /** Queries sent on one connection before the first is answered. Minimum 1. Default 1. */
  pipelining?: number
  /** Are identical queries under way one call? Default true. */
  dedupe?: boolean
  /** Calls in a row without an answer after which the subgraph counts as down. Minimum 1. Default 5. */
  failuresMax?: number
  /** Milliseconds between two questions whether it is back. Minimum 1. Default 1000. */
  checkEveryMs?: number
  /** Told of every call when it ends; must not throw. */
  report?: (call: CallReport) => void
  /** The memory for remembered answers. Default: a separate memory of the default size. */
  memory?: ClientMemory
  clock?: Clock
  random?: Random
}

export type RemoteTransport = Transport & {
  /** Queries that joined a call instead of making one. */
  joined(): number
  /** True while calls are refused because the subgraph does not answer. */
  isDown(): boolean
  /**
   * Ends subscriptions, lets calls under way come to their end, and closes the connections. To be called when no operation
   * uses the transport any more: later calls fail.
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
  const options = { ...REMOTE_DEFAULTS, clock: systemClock, random: systemRandom, memory: given.memory ?? makeClientMemory(), ...given }
  const url = new URL(options.url)
  const path = url.pathname + url.search
  // The calls have bounds of their own; only a connection that is not made in time leaves room for another try.
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

  function compile({ kind, name, text }: FetchOperation): CompiledFetch {
    const named = name === undefined ? '' : `,"operationName":${JSON.stringify(name)}`
    const start = `{"query":${JSON.stringify(text)}${named},"variables":`
    const isQuery = kind === 'query'

    function sendWith(body: string, headers: Headers, context: object): Promise<Read> {
      const keyed = flat(headers)
      const begin = (): Promise<Read> => {
        const traced = options.traceHeaders === undefined ? keyed : [...keyed, ...flat(options.traceHeaders(context))]
        return client.send(kind, { path, headers: headersOf(ACCEPT, traced), body, idempotent: isQuery })
      }
      if (!isQuery) return begin().finally(flights.nextGeneration)
      if (!options.dedupe) return begin()
      return flights.join(keyed.length === 0 ? body : `${body}\n${keyed.join('\n')}`, begin, () => (joined += 1))
    }

    const callOf = (variables: FetchVariables): string => `${start}${JSON.stringify(variables)}}`

    function send(body: string, context: object): Promise<Read> {
      const headers = options.headers?.(context) ?? NO_HEADERS
      return isPromise(headers) ? headers.then((known) => sendWith(body, known, context)) : sendWith(body, headers, context)
    }

    return {
      run: (variables, context) => send(callOf(variables), context).then(ownResult),
      ...(isQuery ? { wire: { callOf, send } } : {}),
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

/** Names and values in turn. A value cannot hold a line break, so that they may be joined by one. */
function flat(headers: Headers): string[] {
  const list: string[] = []
  for (const name of Object.keys(headers)) list.push(name, headers[name] ?? '')
  return list
}
