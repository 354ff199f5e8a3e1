/**
 * What HTTP, SSE and WebSocket share: from an operation's text to its answer. Each of them reads a request in its own
 * way, asks here for the viewer, the prepared operation and its result, and writes the result in its own way.
 *
 * The engine parses, validates and plans once per operation; nothing here does it again. Every operation gets a fresh
 * context, also on a socket that stays open for hours: loaders in it remember what they read.
 */
import { GraphQLError, type ExecutionResult } from 'graphql'
import type { Registry } from '@prometheus-io/client'
import { systemClock } from '../../core/clock.ts'
import type { Viewer } from '../../core/viewer.ts'
import type { Config } from '../../config/config.ts'
import { TidemarkError, isTidemarkError, type ErrorCode } from '../../core/errors.ts'
import { makeFairTurns, type FairTurns } from '../../core/event-loop-yield.ts'
import type { AddressOf } from './addresses.ts'
import { withDegraded } from './degraded.ts'
import type { Engine } from '../operation/engine.ts'
import type { Prepared, PreparedOperation, RequestContext } from '../operation/prepared-operation.ts'
import { formatResult, graphqlErrorOf, makeFormatError, statusOf, type FormatError, type Log } from './error-format.ts'
import type { Readiness } from '../doors/health.ts'
import { makeMetrics, type Metrics } from './metrics.ts'
import { clientOf, forwardedOf, type Caller } from './caller.ts'
import { IDENTITY_HEADER } from '../identity/identity-header.ts'
import { findTracing, type Tracing } from './tracing.ts'
import { makeWatching, withPlan } from './watching.ts'
import { makeHeldBytes, type HeldBytes } from '../limits/held-bytes.ts'
import type { OpenLimitOptions } from '../limits/open-counts.ts'
import { makeOpenLimits, UNLIMITED, type OpenLimits } from '../limits/open-limits.ts'
import { preparingError, type PreparingLimit } from '../limits/preparing-limit.ts'
import type { Gate } from '../operation/preparing.ts'
import { COST_PER_MS, rateLimitedError, type RateLimits } from '../limits/rate-limits.ts'
import type { Refused } from '../limits/waiting-callers.ts'
import { isPromise } from '../execution/run.ts'
import type { Persisted } from '../persisted/persisted.ts'
import { namesViewer, type Credentials, type Identify } from '../identity/identify.ts'
import type { OperationRequest } from './operation-request.ts'

export type Collaborators = {
  readonly identify: Identify
  /** Called once per operation. `lasting`: a subscription's, which must not remember what it once read. */
  makeContext(viewer: Viewer | undefined, lasting: boolean, caller: Caller): RequestContext
  ready(): Promise<Readiness>
  readonly log: Log
  /** Where the gateway's metrics go, and what `/metrics` shows. */
  readonly registry: Registry
  /** How much may be asked; absent: as much as anybody likes. */
  readonly limits?: RateLimits | undefined
  /** Limits of open connections and subscriptions. Absent: no limit. */
  readonly openLimits?: OpenLimitOptions
  /** Bytes that connections may hold before and after the work; see limits/held-bytes.ts. Default 134217728. */
  readonly heldBytesMax?: number
  /** Limits how much may be prepared for one caller. Absent: no limit. */
  readonly preparing?: PreparingLimit | undefined
  /** Where a request comes from; absent: the other end of its connection. */
  readonly addressOf?: AddressOf
  /** What an operation may cost with its variables; absent: anything. */
  readonly operationCostMax?: number
  /** Headers of the client that subgraphs get; absent: none. */
  readonly forwardHeaders?: readonly string[]
  /** Codes of remote subgraphs' errors that clients may read; absent: REMOTE_ERROR_CODES. */
  readonly remoteErrorCodes?: readonly string[]
  /** What `/metrics` shows instead, where several processes answer on one address. */
  metricsOfAll?(): Promise<string>
  /** Absent: whatever OpenTelemetry has been given. */
  readonly tracing?: Tracing | undefined
  /** Finds operations by id. Absent: operations come as text. */
  readonly persisted?: Pick<Persisted, 'prepare' | 'varyOnClient'>
}

/**
 * A result as JSON, text or bytes. `executed` is false if it has errors and no data: nothing ran. `complete`: no errors,
 * and no store was missing.
 */
export type JsonResult = {
  readonly json: string | Buffer
  readonly executed: boolean
  readonly status: number
  readonly complete: boolean
  /** The request was refused for now: its operation needs compiling first, and the caller has used up its compiling allowance. */
  readonly refused?: ExecutionResult['errors']
}

/** `isBlocked`: for too many refused requests. */
export type Refusal = { readonly errors: readonly GraphQLError[]; readonly isBlocked?: boolean }

export type Front = {
  /**
   * Rejects with a TidemarkError if the credentials are wrong. Whose address waits is refused before anybody looks at them.
   * `headers`: those of the request, where credentials came in another way.
   */
  callerOf(credentials: Credentials, address: string | undefined, headers?: Credentials): Promise<Caller | Refusal>
  /** The refusal of a caller that must still wait. `prepare` checks it too; a door checks it before it parses a request. */
  waiting(caller: Caller): Refusal | undefined
  /** Charges a large body, which takes time and memory whatever it asks for: a point per kilobyte. The refusal of a caller that may not spend it. */
  chargeBody(caller: Caller, bytes: number): Promise<Refusal | undefined>
  /** The address of a request, from the peer of its connection and its headers. */
  addressOf(remote: string | undefined, headers: Credentials): string | undefined
  /** Counts open connections, and the cost of their subscriptions. */
  readonly openLimits: OpenLimits
  /** The bytes that connections hold before and after the work. */
  readonly heldBytes: HeldBytes
  /** The turns in which bodies and messages above LARGE_BODY are parsed, by `callerKey`. */
  readonly bodyTurns: FairTurns
  readonly formatError: FormatError
  readonly metrics: Metrics
  readonly log: Log
  /** Answers may depend on the name of the client. */
  varyOnClient(): boolean
  /** Errors come back formatted and counted. The result is a promise if the operation is long and new. */
  prepare(request: OperationRequest, caller: Caller): PreparedOperation | Refusal | Promise<PreparedOperation | Refusal>
  /** May it run now? Undefined: yes. Every door asks before it runs what it prepared; without limits nobody waits for it. */
  admit(prepared: PreparedOperation, request: OperationRequest, caller: Caller): Promise<Refusal | undefined> | undefined
  /** For queries and mutations. */
  execute(prepared: PreparedOperation, request: OperationRequest, caller: Caller): Promise<ExecutionResult>
  executeToJson(prepared: PreparedOperation, request: OperationRequest, caller: Caller): Promise<JsonResult>
  /** For subscriptions. Whoever gets a stream must read it to its end or call `return()`. */
  subscribe(
    prepared: PreparedOperation,
    request: OperationRequest,
    caller: Caller,
  ): Promise<ExecutionResult | AsyncGenerator<ExecutionResult, void, void>>
}

export function makeFront(engine: Engine, mode: Config['server']['mode'], collaborators: Collaborators): Front {
  const {
    identify,
    makeContext,
    log,
    persisted,
    limits,
    preparing,
    addressOf,
    operationCostMax = Infinity,
    forwardHeaders = [],
  } = collaborators
  const formatError = makeFormatError(mode, log, collaborators.remoteErrorCodes)
  const watching = makeWatching(mode === 'development', collaborators.tracing ?? findTracing())
  const openLimits = makeOpenLimits(collaborators.openLimits ?? UNLIMITED, systemClock, log)
  const metrics = makeMetrics(collaborators.registry, openLimits)

  return {
    callerOf,
    waiting,
    chargeBody,
    addressOf: clientAddress,
    openLimits,
    heldBytes: makeHeldBytes(log, collaborators.heldBytesMax),
    bodyTurns: makeFairTurns(),
    formatError,
    metrics,
    log,
    varyOnClient: () => persisted?.varyOnClient === true,
    prepare,
    admit,
    execute,
    executeToJson,
    subscribe,
  }

  function clientAddress(remote: string | undefined, headers: Credentials): string | undefined {
    return addressOf === undefined ? remote : addressOf(remote, headers['x-forwarded-for'])
  }

  async function callerOf(
    credentials: Credentials,
    remote: string | undefined,
    headers: Credentials = credentials,
  ): Promise<Caller | Refusal> {
    const address = clientAddress(remote, headers)
    const unknown: Caller = { viewer: undefined, client: undefined, address }
    // Callers with a valid token must not wait for callers without a token at the same address.
    const waiting = limits?.waiting(unknown, namesViewer(credentials) || credentials[IDENTITY_HEADER] !== undefined)
    if (waiting !== undefined) return refuseLimited(waiting)
    let viewer: Viewer | undefined
    try {
      viewer = await identify(credentials)
    } catch (error) {
      if (limits === undefined || !isTidemarkError(error) || !BAD_CREDENTIALS.has(error.code)) throw error
      const isWaiting = limits.waiting(unknown)
      if (isWaiting !== undefined) return refuseLimited(isWaiting)
      limits.refuse(unknown)
      throw error
    }
    const caller = { viewer, client: clientOf(credentials), address, ...watching.callerPart(headers) }
    const forwarded = forwardedOf(headers, forwardHeaders)
    return forwarded === undefined ? caller : { ...caller, forwarded }
  }

  function waiting(caller: Caller): Refusal | undefined {
    const refused = limits?.waiting(caller)
    return refused && refuseLimited(refused)
  }

  async function chargeBody(caller: Caller, bytes: number): Promise<Refusal | undefined> {
    const refused = await limits?.spend(caller, Math.ceil(bytes / 1_024))
    return refused && refuseLimited(refused)
  }

  function prepare(request: OperationRequest, caller: Caller): PreparedOperation | Refusal | Promise<PreparedOperation | Refusal> {
    const refused = waiting(caller)
    if (refused !== undefined) return refused
    const gate = gateOf(caller)
    const prepared =
      persisted === undefined
        ? engine.prepareFor(gate, request.query ?? '', request.operationName)
        : persisted.prepare(request, caller.client, gate)
    return isPromise(prepared) ? prepared.then((known) => judged(known, request, caller)) : judged(prepared, request, caller)
  }

  function judged(prepared: Prepared, request: OperationRequest, caller: Caller): PreparedOperation | Refusal {
    if ('errors' in prepared) {
      // Invalid requests cost too, even short ones. The answer does not wait for the counting.
      void limits?.spend(caller, 1)
      return refuse(prepared.errors)
    }
    if (operationCostMax === Infinity) return prepared
    const startedAt = limits === undefined ? 0 : performance.now()
    const cost = prepared.cost?.(request.variables) ?? 0
    if (cost <= operationCostMax) return prepared
    // Computing the cost of a refused operation is charged as well.
    void limits?.spend(caller, Math.ceil((performance.now() - startedAt) * COST_PER_MS))
    return refuse([tooCostly(prepared, cost, operationCostMax)])
  }

  /** A new operation costs more than a known one. New values of its conditions cost more as well. */
  function gateOf(caller: Caller): Gate {
    return (length) => {
      const allowance = preparing?.take(caller, length)
      if (allowance !== undefined && 'retryAfterMs' in allowance) {
        metrics.countPreparingRefused(allowance.who)
        return preparingError(allowance)
      }
      return {
        spent(ms) {
          allowance?.spent(ms)
          const points = Math.floor(ms * COST_PER_MS)
          if (points > 0) void limits?.spend(caller, points)
        },
      }
    }
  }

  function admit(prepared: PreparedOperation, request: OperationRequest, caller: Caller): Promise<Refusal | undefined> | undefined {
    const refused = limits?.spend(caller, prepared.cost?.(request.variables) ?? 1)
    if (refused === undefined) return undefined
    return Promise.resolve(refused).then((known) => (known === undefined ? undefined : refuse([rateLimitedError(known)])))
  }

  function refuseLimited(refused: Refused): Refusal {
    return { ...refuse([rateLimitedError(refused)]), isBlocked: refused.blocked }
  }

  function refuse(errors: readonly GraphQLError[]): Refusal {
    metrics.countRequest('unknown', undefined, 'refused', 0)
    return { errors: errors.map((error) => formatError(error, 'request')) }
  }

  async function execute(prepared: PreparedOperation, request: OperationRequest, caller: Caller): Promise<ExecutionResult> {
    return run(prepared, caller, (context, gate) => prepared.execute(request.variables, context, gate))
  }

  async function executeToJson(prepared: PreparedOperation, request: OperationRequest, caller: Caller): Promise<JsonResult> {
    const { executeToJson: toJson } = prepared
    if (toJson === undefined || caller.wantsPlan) return jsonResultOf(await execute(prepared, request, caller))
    const result = await run(prepared, caller, (context, gate) => toJson(request.variables, context, gate))
    return Buffer.isBuffer(result) ? { json: result, executed: true, status: 200, complete: true } : jsonResultOf(result)
  }

  /** Bytes are passed on as they are: what they say is complete. */
  async function run<Result extends ExecutionResult | Buffer>(
    prepared: PreparedOperation,
    caller: Caller,
    begin: (context: RequestContext, gate: Gate) => Promise<Result>,
  ): Promise<Result | ExecutionResult> {
    const startedAt = performance.now()
    const context = makeContext(caller.viewer, false, caller)
    const span = watching.begin(prepared, caller, context)
    const result = await begin(context, gateOf(caller))
    metrics.countRequest(prepared.kind, prepared.name, Buffer.isBuffer(result) ? 'ok' : outcomeOf(result), performance.now() - startedAt)
    span.end(Buffer.isBuffer(result) ? 0 : (result.errors?.length ?? 0))
    return Buffer.isBuffer(result) ? result : withPlan(withDegraded(formatResult(result, formatError), context), context)
  }

  async function subscribe(prepared: PreparedOperation, request: OperationRequest, caller: Caller) {
    const startedAt = performance.now()
    const context = makeContext(caller.viewer, true, caller)
    const span = watching.begin(prepared, caller, context)
    const stream = await prepared.subscribe(request.variables, context, gateOf(caller))
    span.end(isStream(stream) ? 0 : (stream.errors?.length ?? 0))
    if (!isStream(stream)) {
      metrics.countRequest('subscription', prepared.name, outcomeOf(stream), performance.now() - startedAt)
      return formatResult(stream, formatError)
    }
    metrics.countRequest('subscription', prepared.name, 'ok', performance.now() - startedAt)
    return followed(stream, metrics, formatError, context)
  }
}

/** Looking at these cost a signature, and whoever sends them has nothing else that he could be counted by. */
const BAD_CREDENTIALS: ReadonlySet<ErrorCode> = new Set(['UNAUTHENTICATED', 'TOKEN_EXPIRED'])

function tooCostly({ name }: PreparedOperation, cost: number, costMax: number): GraphQLError {
  return new GraphQLError(
    `${name === undefined ? 'the operation' : `operation ${name}`} costs ${cost} with these variables: at most ${costMax} are allowed; ask for shorter lists, or split it`,
    { extensions: { code: 'OPERATION_TOO_COSTLY' satisfies ErrorCode, cost, costMax } },
  )
}

function outcomeOf(result: ExecutionResult): 'ok' | 'errors' | 'refused' {
  return result.errors === undefined ? 'ok' : 'data' in result ? 'errors' : 'refused'
}

function isStream(result: ExecutionResult | AsyncIterableIterator<ExecutionResult>): result is AsyncIterableIterator<ExecutionResult> {
  return Symbol.asyncIterator in result
}

function jsonResultOf(result: ExecutionResult): JsonResult {
  const executed = 'data' in result
  const complete = executed && result.errors === undefined && result.extensions?.['degraded'] === undefined
  const refused = !executed && result.errors?.[0]?.extensions['code'] === ('RATE_LIMITED' satisfies ErrorCode) ? result.errors : undefined
  return {
    json: JSON.stringify(result),
    executed,
    status: executed ? 200 : statusOf(result.errors ?? []),
    complete,
    ...(refused && { refused }),
  }
}

/**
 * The stream with each result formatted, counted as open until it ends. Not an async generator function: its `return()`
 * would wait behind a `next()` that waits for an event, so a stream on which nothing happens could never be closed.
 * What was missing is told once, with the next event.
 */
function followed(
  stream: AsyncIterableIterator<ExecutionResult>,
  metrics: Metrics,
  formatError: FormatError,
  context: RequestContext,
): AsyncGenerator<ExecutionResult, void, void> {
  let open = true
  metrics.subscriptionOpened()
  function ended(): IteratorReturnResult<void> {
    if (open) metrics.subscriptionClosed()
    open = false
    return { done: true, value: undefined }
  }
  return {
    async next() {
      if (!open) return ended()
      try {
        const step = await stream.next()
        if (step.done === true) return ended()
        const value = withDegraded(formatResult(step.value, formatError), context)
        context.degraded?.clear()
        return { done: false, value }
      } catch (error) {
        ended()
        throw formatError(error, 'field')
      }
    },
    async return() {
      ended()
      await stream.return?.()
      return { done: true, value: undefined }
    },
    async throw(error: unknown) {
      ended()
      await stream.return?.()
      throw error
    },
    [Symbol.asyncIterator]() {
      return this
    },
    async [Symbol.asyncDispose]() {
      await this.return()
    },
  }
}

/** A subscription where only single answers can go. */
export function subscriptionRefused(): GraphQLError {
  return graphqlErrorOf(
    new TidemarkError('BAD_REQUEST', 'a subscription has many answers: open it over WebSocket, or send accept: text/event-stream'),
  )
}
