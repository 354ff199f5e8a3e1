/** Observes operations: their spans, and the plan that a client in development may ask for. Fetches write their notes into the context. */
import type { ExecutionResult } from 'graphql'
import type { Caller } from './caller.ts'
import type { FetchNote, ObservedContext } from '../transports/fetch-observer.ts'
import type { RequestContext } from '../operation/prepared-operation.ts'
import type { TraceContext, Tracing } from './tracing.ts'

export type Watching = {
  /** Reads the trace and the request for the plan from the headers. They become a part of the caller. */
  callerPart(headers: Readonly<Record<string, unknown>>): { trace?: TraceContext; wantsPlan?: true }
  /** Prepares the context; `end` closes the span of the operation. */
  begin(operation: { kind: string; name: string | undefined }, caller: Caller, context: RequestContext): { end(errors: number): void }
}

const NOTHING = Object.freeze({})
const NOBODY_WATCHES = { end: () => undefined }

export function makeWatching(isDevelopment: boolean, tracing: Tracing | undefined): Watching {
  return {
    callerPart(headers) {
      const wantsPlan = isDevelopment && headers['x-tidemark-plan'] !== undefined
      if (tracing === undefined && !wantsPlan) return NOTHING
      return { ...(tracing === undefined ? {} : { trace: tracing.contextOf(headers) }), ...(wantsPlan ? { wantsPlan: true } : {}) }
    },
    begin({ kind, name }, caller, context) {
      // A stream has no last answer in which the plan could be shown.
      if (caller.wantsPlan && kind !== 'subscription')
        Object.assign<object, ObservedContext>(context, { plan: { startedAt: performance.now(), fetches: [] } })
      if (tracing === undefined) return NOBODY_WATCHES
      const span = tracing.beginOperation(kind, name, caller.trace)
      Object.assign<object, ObservedContext>(context, { trace: span.context })
      return span
    },
  }
}

/** Adds `extensions.plan` if the client asked for it: the fetches that ran, in the order in which they ended. */
export function withPlan(
  result: ExecutionResult,
  context: RequestContext & { plan?: { fetches: FetchNote[] } | undefined },
): ExecutionResult {
  if (context.plan === undefined || !('data' in result)) return result
  return { ...result, extensions: { ...result.extensions, plan: context.plan.fetches } }
}
