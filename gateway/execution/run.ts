/** What one request carries through its plan. Everything else the executor knows was compiled before. */
import type { GraphQLError } from 'graphql'
import type { Notes, AnswerReplay } from './answer-replay.ts'
import type { FetchError } from '../transports/transport.ts'

/** A path in the data while the plan runs: data keys and list indexes, not yet the client's. */
export type DataPath = readonly (string | number)[]

export type Failure = { readonly error: FetchError; readonly path: DataPath | undefined }

const NOTHING_NOTED: Pick<Run, 'notes' | 'replay'> = Object.freeze({ notes: undefined, replay: undefined })

export type Run = {
  /** Grows fetch by fetch; keys are those of plan-document.ts, and more than the client asked for. */
  readonly data: Record<string, unknown>
  readonly variables: Readonly<Record<string, unknown>>
  readonly context: object
  readonly failures: Failure[]
  /** Objects that a fetch failed to complete: a null in them needs no error of its own. */
  lost: Set<object> | undefined
  /** Absent: nothing is recorded of it. */
  readonly notes?: Notes | undefined
  /** It only makes the calls of a recording again; there is no data. */
  readonly replay?: AnswerReplay | undefined
}

/** What a client gets. */
export type ExecutionAnswer = { data: Record<string, unknown> | null; errors?: readonly GraphQLError[] }

export function makeRun(
  data: Record<string, unknown>,
  variables: Readonly<Record<string, unknown>>,
  context: object,
  { notes, replay }: Pick<Run, 'notes' | 'replay'> = NOTHING_NOTED,
): Run {
  return { data, variables, context, failures: [], lost: undefined, notes, replay }
}

/** Notes one failure for all that was to be merged into these objects. */
export function loseTargets(run: Run, targets: Iterable<object>, error: FetchError, path: DataPath | undefined): void {
  run.failures.push({ error, path })
  run.lost ??= new Set()
  for (const target of targets) run.lost.add(target)
}

export function isPromise<T>(value: T | Promise<T>): value is Promise<T> {
  return typeof (value as { then?: unknown } | null | undefined)?.then === 'function'
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
