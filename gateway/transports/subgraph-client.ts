/**
 * Calls of one subgraph: each with its tries, all with one breaker.
 *
 * The breaker counts signs of an absent server: no connection, no answer in time, or 502, 503 or 504 from a proxy. A server that
 * answers HTTP 500 or an invalid body is present. If the breaker counted these, one broken field would be an outage of all its
 * operations.
 */
import type { Dispatcher } from 'undici'
import type { Clock } from '../../core/clock.ts'
import { sleep } from '../../core/clock.ts'
import { TidemarkError } from '../../core/errors.ts'
import type { Random } from '../../core/random.ts'
import { isProxyFailure, PROXY_STATUSES, readAnswer, type ReadAnswer } from './answer.ts'
import { CallFailure, failureError } from './call-failure.ts'
import { openEventStream } from './event-stream.ts'
import { post } from './http-call.ts'
import type { HttpAnswer, HttpCall } from './http-call.ts'
import { makeSubgraphBreaker } from './subgraph-breaker.ts'
import type { FetchOperation, FetchResult } from './transport.ts'

type Kind = FetchOperation['kind']

export type CallReport = {
  readonly subgraph: string
  readonly kind: Kind
  /** `refused`: not sent, because the subgraph is down. A subscription is `answered` when it is open. */
  readonly outcome: 'answered' | 'failed' | 'refused'
  readonly durationMs: number
  readonly tries: number
  /** The cause with addresses: for the log, not for clients. */
  readonly error?: unknown
}

/** See RemoteOptions. */
export type SubgraphClientOptions = {
  readonly name: string
  readonly timeoutMs: number
  readonly retries: number
  readonly bodyBytesMax: number
  readonly failuresMax: number
  readonly checkEveryMs: number
  readonly report?: (call: CallReport) => void
  readonly clock: Clock
  readonly random: Random
}

export type SubgraphClient = {
  /** Rejects only with SUBGRAPH_UNAVAILABLE. */
  send(kind: Kind, call: HttpCall, read: ReadAnswer): Promise<FetchResult>
  open(call: HttpCall): Promise<FetchResult | AsyncIterator<FetchResult>>
  isDown(): boolean
  stop(): void
}

/** Milliseconds. The pause before the n-th further try is a random part of n times this value. */
const RETRY_PAUSE_MS = 50
/** Servers without event streams, such as Apollo Server, refuse a subscription with this status. */
const NOT_ACCEPTABLE = 406

/** `probe` is a query that costs the subgraph next to nothing. */
export function makeSubgraphClient(
  calls: Dispatcher,
  streams: Dispatcher,
  probe: HttpCall,
  options: SubgraphClientOptions,
): SubgraphClient {
  const { name, clock, random, timeoutMs } = options
  const bounds = { timeoutMs, bytesMax: options.bodyBytesMax }
  const breaker = makeSubgraphBreaker(clock, check, options)

  return { send, open, isDown: () => breaker.isOpen, stop: breaker.stop }

  async function check(): Promise<void> {
    const outcome = await post(calls, probe, bounds, clock)
    if (outcome instanceof CallFailure) throw outcome
    if (isProxyFailure(name, outcome)) throw new CallFailure('unreachable')
  }

  async function send(kind: Kind, call: HttpCall, read: ReadAnswer): Promise<FetchResult> {
    const begun = clock.now()
    const deadline = begun + timeoutMs
    const triesMax = kind === 'query' ? options.retries + 1 : 1
    for (let tries = 1; ; tries += 1) {
      const bytesMax = options.bodyBytesMax
      const outcome = breaker.isOpen
        ? new CallFailure('down')
        : await post(calls, call, { bytesMax, timeoutMs: Math.max(1, deadline - clock.now()) }, clock)
      if (tries < triesMax && isRetriable(outcome) && (await pauseBeforeRetry(tries, deadline, clock, random))) continue
      try {
        const result = readOutcome(outcome, read)
        report({ kind, outcome: 'answered', durationMs: clock.now() - begun, tries })
        return result
      } catch (error) {
        throw failed(error, kind, begun, tries)
      }
    }
  }

  /** Also informs the breaker. */
  function readOutcome(outcome: HttpAnswer | CallFailure, read: ReadAnswer): FetchResult {
    if (outcome instanceof CallFailure) {
      if (outcome.reason === 'unreachable' || outcome.reason === 'late') breaker.failed()
      else if (outcome.reason === 'too large') breaker.answered()
      throw outcome
    }
    if (isProxyFailure(name, outcome)) breaker.failed()
    else breaker.answered()
    return read(name, outcome)
  }

  async function open(call: HttpCall): Promise<FetchResult | AsyncIterator<FetchResult>> {
    const begun = clock.now()
    try {
      if (breaker.isOpen) throw new CallFailure('down')
      const opened = await openEventStream(name, streams, call, bounds, clock)
      if ('status' in opened && opened.status === NOT_ACCEPTABLE) {
        breaker.answered()
        throw new TidemarkError('SUBSCRIPTIONS_NOT_SERVED', `the subgraph "${name}" sends no event streams: repeat a query instead`)
      }
      const result = 'next' in opened ? followed(opened) : readOutcome(opened, readAnswer)
      report({ kind: 'subscription', outcome: 'answered', durationMs: clock.now() - begun, tries: 1 })
      return result
    } catch (error) {
      throw failed(error, 'subscription', begun, 1)
    }
  }

  function followed(stream: AsyncIterator<FetchResult>): AsyncIterator<FetchResult> {
    const opened = clock.now()
    return withErrors(stream, (error) => failed(error, 'subscription', opened, 1))
  }

  function failed(error: unknown, kind: Kind, begun: number, tries: number): TidemarkError {
    const isDown = error instanceof CallFailure && error.reason === 'down'
    report({ kind, outcome: isDown ? 'refused' : 'failed', durationMs: clock.now() - begun, tries, error })
    return failureError(error, options)
  }

  function report(call: Omit<CallReport, 'subgraph'>): void {
    options.report?.({ subgraph: name, ...call })
  }
}

function isRetriable(outcome: HttpAnswer | CallFailure): boolean {
  return outcome instanceof CallFailure ? outcome.reason === 'unreachable' : PROXY_STATUSES.has(outcome.status)
}

/** False if there is no time for another try. */
async function pauseBeforeRetry(tries: number, deadline: number, clock: Clock, random: Random): Promise<boolean> {
  const pauseMs = Math.ceil(random() * RETRY_PAUSE_MS * tries)
  if (clock.now() + pauseMs >= deadline) return false
  await sleep(clock, pauseMs)
  return true
}

/** The same stream, with failures mapped by `errorOf`. */
function withErrors(stream: AsyncIterator<FetchResult>, errorOf: (failure: unknown) => TidemarkError): AsyncIterator<FetchResult> {
  return {
    next: () =>
      stream.next().catch((failure: unknown) => {
        throw errorOf(failure)
      }),
    return: () => stream.return?.() ?? Promise.resolve({ done: true, value: undefined }),
  }
}
