/**
 * The front is shared by HTTP, SSE and WebSocket. Each of them reads a request in its own way, uses the parts of the front in the order
 * below, and writes the result in its own way.
 *
 * The engine parses, validates and plans each operation once. Every operation gets a fresh context, even on a socket that stays open for
 * hours, because the loaders in a context remember their reads.
 *
 *   caller-checks.ts   credentials → caller; refuses callers that must wait
 *   preparation.ts     text or id → prepared operation; refuses costly ones
 *   operation-runs.ts  prepared operation → result or stream of results
 */
import type { Registry } from '@prometheus-io/client'
import type { Config } from '../../config/config.ts'
import { systemClock } from '../../core/clock.ts'
import { makeFairTurns, type FairTurns } from '../../core/event-loop-yield.ts'
import type { Readiness } from '../doors/health.ts'
import type { ConsoleSource } from '../pages/console-source.ts'
import { makeHeldBytes, type HeldBytes } from '../limits/held-bytes.ts'
import type { OpenLimitOptions } from '../limits/open-counts.ts'
import { makeOpenLimits, UNLIMITED, type OpenLimits } from '../limits/open-limits.ts'
import type { Engine } from '../operation/engine.ts'
import { textLookup } from '../persisted/lookup.ts'
import type { Persisted } from '../persisted/persisted.ts'
import { makeCallerChecks, type CallerChecks, type CallerOptions } from './caller-checks.ts'
import { makeFormatError, type FormatError, type Log } from './error-format.ts'
import { makeMetrics, type Metrics } from './metrics.ts'
import { makeOperationRuns, type MakeContext, type OperationRuns } from './operation-runs.ts'
import { makePreparation, type Preparation, type PreparationOptions } from './preparation.ts'
import { makeGateOf, type GateOptions } from './preparing-gate.ts'
import { makeRefuse } from './refusal.ts'
import { findTracing, type Tracing } from './tracing.ts'
import { makeWatching } from './watching.ts'

export type Collaborators = CallerOptions &
  GateOptions &
  PreparationOptions & {
    readonly makeContext: MakeContext
    /** Finds operations by id. Absent: operations come as text. */
    readonly persisted?: Pick<Persisted, 'lookup' | 'varyOnClient'>
    ready(): Promise<Readiness>
    readonly log: Log
    /** The registry of the gateway's metrics. `/metrics` shows it. */
    readonly registry: Registry
    /** Limits of open connections and subscriptions. Absent: no limit. */
    readonly openLimits?: OpenLimitOptions
    /** Bytes that connections may hold before and after the work; see limits/held-bytes.ts. Default 134217728. */
    readonly heldBytesMax?: number
    /** The codes of remote subgraphs' errors that clients may read. Absent: REMOTE_ERROR_CODES. */
    readonly remoteErrorCodes?: readonly string[]
    /** The metrics of all processes, if several of them share one address. `/metrics` shows these instead. */
    metricsOfAll?(): Promise<string>
    /** The data of the console. Absent: the console has none. */
    readonly console?: ConsoleSource | undefined
    /** Absent: the tracing that is registered with OpenTelemetry. */
    readonly tracing?: Tracing | undefined
  }

export type Front = {
  readonly callerChecks: CallerChecks
  readonly preparation: Preparation
  readonly operationRuns: OperationRuns
  /** Counts open connections, and the cost of their subscriptions. */
  readonly openLimits: OpenLimits
  /** The bytes that connections hold before and after the work. */
  readonly heldBytes: HeldBytes
  /** Orders the parsing of bodies and messages above LARGE_BODY. Callers (`callerKey`) take turns. */
  readonly bodyTurns: FairTurns
  readonly formatError: FormatError
  readonly metrics: Metrics
  readonly log: Log
  /** Answers may depend on the name of the client. */
  varyOnClient(): boolean
}

export function makeFront(engine: Engine, mode: Config['server']['mode'], collaborators: Collaborators): Front {
  const { makeContext, log, persisted } = collaborators
  const formatError = makeFormatError(mode, log, collaborators.remoteErrorCodes)
  const watching = makeWatching(mode === 'development', collaborators.tracing ?? findTracing())
  const openLimits = makeOpenLimits(collaborators.openLimits ?? UNLIMITED, systemClock, log)
  const metrics = makeMetrics(collaborators.registry, openLimits)
  const refuse = makeRefuse(metrics, formatError)
  const gateOf = makeGateOf(collaborators, metrics)
  const callerChecks = makeCallerChecks(collaborators, watching, refuse)

  return {
    callerChecks,
    preparation: makePreparation(persisted?.lookup ?? textLookup(engine), collaborators, callerChecks.waiting, gateOf, refuse, metrics),
    operationRuns: makeOperationRuns(makeContext, gateOf, watching, metrics, formatError),
    openLimits,
    heldBytes: makeHeldBytes(log, collaborators.heldBytesMax),
    bodyTurns: makeFairTurns(),
    formatError,
    metrics,
    log,
    varyOnClient: () => persisted?.varyOnClient === true,
  }
}
