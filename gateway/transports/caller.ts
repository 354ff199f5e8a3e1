/**
 * Calls of one subgraph: each with its tries, all with one breaker. Errors get their words here.
 *
 * The breaker counts what says that nobody is there: no connection, no answer in time, or a proxy that says so (502, 503,
 * 504). A server that answers nonsense or HTTP 500 is there; to refuse its other operations would make one broken field an
 * outage.
 */
import type { Dispatcher } from 'undici'
import type { Clock } from '../../core/clock.ts'
import { sleep } from '../../core/clock.ts'
import { TidemarkError } from '../../core/errors.ts'
import type { Random } from '../../core/random.ts'
import { readAnswer, resultOf } from './answer.ts'
import { openEventStream } from './event-stream.ts'
import { CallFailure, post, textOf } from './http-call.ts'
import type { HttpAnswer, HttpCall } from './http-call.ts'
import type { ClientMemory } from '../memory/client-memory.ts'
import { makeRemembered, ownResult } from './remembered.ts'
import { makeSubgraphBreaker } from './subgraph-breaker.ts'
import type { FetchOperation, FetchResult, Read } from './transport.ts'

type Kind = FetchOperation['kind']

export type CallReport = {
  readonly subgraph: string
  readonly kind: Kind
  /** `refused`: not sent, since the subgraph is down. A subscription is `answered` when it is open. */
  readonly outcome: 'answered' | 'failed' | 'refused'
  readonly durationMs: number
  readonly tries: number
  /** What went wrong, addresses included: for the log, not for clients. */
  readonly error?: unknown
}

/** See RemoteOptions. */
export type CallerOptions = {
  readonly name: string
  readonly timeoutMs: number
  readonly retries: number
  readonly bodyBytesMax: number
  readonly failuresMax: number
  readonly checkEveryMs: number
  readonly report?: (call: CallReport) => void
  readonly memory: ClientMemory
  readonly clock: Clock
  readonly random: Random
}

export type Caller = {
  /** Rejects with SUBGRAPH_UNAVAILABLE only. */
  send(kind: Kind, call: HttpCall): Promise<Read>
  /** Opens a subscription. */
  open(call: HttpCall): Promise<FetchResult | AsyncIterator<FetchResult>>
  isDown(): boolean
  stop(): void
}

/** Milliseconds; the pause before the n-th further try is a random part of n times this. */
const RETRY_PAUSE_MS = 50
/** The status with which servers without event streams, such as Apollo Server, refuse to send one. */
const NOT_ACCEPTABLE = 406
const RETRIED_STATUS: ReadonlySet<number> = new Set([502, 503, 504])

/** `probe` is a query that costs the subgraph nothing. */
export function makeCaller(calls: Dispatcher, streams: Dispatcher, probe: HttpCall, options: CallerOptions): Caller {
  const { name, clock, random, timeoutMs } = options
  const bounds = { timeoutMs, bytesMax: options.bodyBytesMax }
  const remembered = makeRemembered(options.memory)
  const breaker = makeSubgraphBreaker(clock, check, options)

  return { send, open, isDown: () => breaker.isOpen, stop }

  function stop(): void {
    breaker.stop()
    remembered.clear()
  }

  async function check(): Promise<void> {
    if (saysDown(await post(calls, probe, bounds, clock))) throw new CallFailure('unreachable')
  }

  async function send(kind: Kind, call: HttpCall): Promise<Read> {
    const begun = clock.now()
    const deadline = begun + timeoutMs
    const triesMax = kind === 'query' ? options.retries + 1 : 1
    for (let tries = 1; ; tries += 1) {
      const outcome = await attempt(call, deadline)
      const again =
        tries < triesMax && (outcome instanceof CallFailure ? outcome.reason === 'unreachable' : RETRIED_STATUS.has(outcome.status))
      if (again && (await pause(tries, deadline))) continue
      try {
        const read = readOutcome(outcome, call.body)
        report({ kind, outcome: 'answered', durationMs: clock.now() - begun, tries })
        return read
      } catch (error) {
        throw failed(error, kind, begun, tries)
      }
    }
  }

  /** What came of one try; a failure is returned, not thrown. */
  async function attempt(call: HttpCall, deadline: number): Promise<HttpAnswer | CallFailure> {
    if (breaker.isOpen) return new CallFailure('down')
    try {
      return await post(calls, call, { ...bounds, timeoutMs: Math.max(1, deadline - clock.now()) }, clock)
    } catch (thrown) {
      return asFailure(thrown)
    }
  }

  /** False if there is no time for another try. */
  async function pause(tries: number, deadline: number): Promise<boolean> {
    const pauseMs = Math.ceil(random() * RETRY_PAUSE_MS * tries)
    if (clock.now() + pauseMs >= deadline) return false
    await sleep(clock, pauseMs)
    return true
  }

  /** Also tells the breaker. */
  function readOutcome(outcome: HttpAnswer | CallFailure, body: string): Read {
    if (outcome instanceof CallFailure) {
      if (outcome.reason === 'unreachable' || outcome.reason === 'late') breaker.failed()
      else if (outcome.reason === 'too large') breaker.answered()
      throw outcome
    }
    if (saysDown(outcome)) breaker.failed()
    else breaker.answered()
    return remembered.read(body, outcome.body, () => readAnswer(name, outcome))
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
      const result = 'next' in opened ? worded(opened) : ownResult(readOutcome(opened, call.body))
      report({ kind: 'subscription', outcome: 'answered', durationMs: clock.now() - begun, tries: 1 })
      return result
    } catch (error) {
      throw failed(error, 'subscription', begun, 1)
    }
  }

  /** The stream, with the words of this file for what may break it. */
  function worded(stream: AsyncIterator<FetchResult>): AsyncIterator<FetchResult> {
    const opened = clock.now()
    return {
      next: () =>
        stream.next().catch((error: unknown) => {
          throw failed(error, 'subscription', opened, 1)
        }),
      return: () => stream.return?.() ?? Promise.resolve({ done: true, value: undefined }),
    }
  }

  function failed(error: unknown, kind: Kind, begun: number, tries: number): TidemarkError {
    const isDown = error instanceof CallFailure && error.reason === 'down'
    report({ kind, outcome: isDown ? 'refused' : 'failed', durationMs: clock.now() - begun, tries, error })
    if (error instanceof TidemarkError) return error
    const failure = asFailure(error)
    return new TidemarkError('SUBGRAPH_UNAVAILABLE', `the subgraph "${name}" ${sentence(failure)}`, { cause: failure.cause ?? failure })
  }

  function sentence({ reason }: CallFailure): string {
    switch (reason) {
      case 'down':
        return `is down and is asked every ${options.checkEveryMs} ms whether it is back: try again`
      case 'late':
        return `did not answer within ${timeoutMs} ms: try again, or ask for less`
      case 'too large':
        return `sent more than ${options.bodyBytesMax} bytes: ask for less`
      case 'refused':
        return 'was not asked, since the headers for it cannot be sent: correct them'
      case 'unreachable':
        return 'cannot be reached, or broke the connection off: try again'
      default:
        return reason satisfies never
    }
  }

  /** A proxy's way to say that nobody is there; a subgraph that says so in GraphQL is there. */
  function saysDown({ status, body }: HttpAnswer): boolean {
    return RETRIED_STATUS.has(status) && resultOf(name, textOf(body)) === undefined
  }

  function report(call: Omit<CallReport, 'subgraph'>): void {
    options.report?.({ subgraph: name, ...call })
  }
}

function asFailure(thrown: unknown): CallFailure {
  return thrown instanceof CallFailure ? thrown : new CallFailure('unreachable', { cause: thrown })
}
