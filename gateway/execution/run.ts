/** The state of one request in its plan. Everything else of the executor is compiled before. */
import type { GraphQLError } from 'graphql'
import type { FetchError } from '../transports/transport.ts'

/** A path in the data while the plan runs: data keys and list indexes. The client's path may differ. */
export type DataPath = readonly (string | number)[]

export type Failure = { readonly error: FetchError; readonly path: DataPath | undefined }

export type Run = {
  /** Grows with each fetch. Its keys are those of plan-document.ts. It holds more than the client selected. */
  readonly data: Record<string, unknown>
  readonly variables: Readonly<Record<string, unknown>>
  readonly context: object
  readonly failures: Failure[]
  /** Objects that a fetch failed to complete. A null in them needs no further error. */
  lost: Set<object> | undefined
  /** Whether `data` is an escaped tree; see escaped.ts. Its strings must be unescaped before they leave the run. */
  readonly isEscaped: boolean
}

export type ExecutionAnswer = { data: Record<string, unknown> | null; errors?: readonly GraphQLError[] }

export function makeRun(
  data: Record<string, unknown>,
  variables: Readonly<Record<string, unknown>>,
  context: object,
  isEscaped = false,
): Run {
  return { data, variables, context, failures: [], lost: undefined, isEscaped }
}

/** Notes one failure for all objects that a fetch should have completed. */
export function failTargets(run: Run, targets: Iterable<object>, error: FetchError, path: DataPath | undefined): void {
  run.failures.push({ error, path })
  markLost(run, targets)
}

/** A null in these objects needs no further error. */
export function markLost(run: Run, targets: Iterable<object>): void {
  run.lost ??= new Set()
  for (const target of targets) run.lost.add(target)
}

export function isPromise<T>(value: T | Promise<T>): value is Promise<T> {
  // Most values are text or numbers. Where values of many shapes come, this test is faster than a read of `then`.
  if ((typeof value !== 'object' && typeof value !== 'function') || value === null) return false
  return typeof (value as { then?: unknown }).then === 'function'
}

export function isIterable(value: unknown): value is Iterable<unknown> {
  return typeof value === 'object' && value !== null && typeof (value as Partial<Iterable<unknown>>)[Symbol.iterator] === 'function'
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
