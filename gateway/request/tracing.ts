/**
 * OpenTelemetry spans: one per operation, and one per fetch of its plan. Tidemark depends on the API only. To get spans, load an SDK before
 * Tidemark (`node --import ./tracing.js`). Without an SDK, a request only checks a flag.
 *
 * Spans contain names and durations. They contain no variables, no texts of operations and no viewers.
 */
import { ProxyTracerProvider, ROOT_CONTEXT, SpanKind, SpanStatusCode, propagation, trace } from '@opentelemetry/api'
import type { Context, Span, Tracer } from '@opentelemetry/api'

export type { Context as TraceContext } from '@opentelemetry/api'

/** The trace in a request's context, for the fetches of the request. */
export type Traced = { trace?: Context | undefined }

export type Tracing = {
  /** The trace of the client, from HTTP headers (`traceparent`). */
  contextOf(headers: Readonly<Record<string, unknown>>): Context
  /** Begins the span of an operation. */
  beginOperation(kind: string, name: string | undefined, parent: Context | undefined): { context: Context; end(errors: number): void }
  /** Begins the span of a fetch. */
  beginFetch(subgraph: string, kind: string, parent: Context | undefined): { end(errors: number, failure: unknown): void }
}

/** Undefined if no SDK is loaded. */
export function findTracing(): Tracing | undefined {
  const provider = trace.getTracerProvider()
  // A provider of another class was set through another copy of the API.
  if (provider instanceof ProxyTracerProvider && provider.getDelegate() === new ProxyTracerProvider().getDelegate()) return undefined
  return makeTracing(trace.getTracer('tidemark'))
}

export function makeTracing(tracer: Tracer): Tracing {
  return {
    contextOf: (headers) => propagation.extract(ROOT_CONTEXT, headers),
    beginOperation(kind, name, parent = ROOT_CONTEXT) {
      // The names follow OpenTelemetry's conventions for GraphQL servers.
      const attributes = { 'graphql.operation.type': kind, ...(name === undefined ? {} : { 'graphql.operation.name': name }) }
      const span = tracer.startSpan(name === undefined ? kind : `${kind} ${name}`, { kind: SpanKind.SERVER, attributes }, parent)
      return { context: trace.setSpan(parent, span), end: (errors) => endSpan(span, errors, undefined) }
    },
    beginFetch(subgraph, kind, parent = ROOT_CONTEXT) {
      const attributes = { 'tidemark.subgraph': subgraph, 'graphql.operation.type': kind }
      const span = tracer.startSpan(`fetch ${subgraph}`, { kind: SpanKind.CLIENT, attributes }, parent)
      return { end: (errors, failure) => endSpan(span, errors, failure) }
    },
  }
}

function endSpan(span: Span, errors: number, failure: unknown): void {
  if (errors > 0) span.setAttribute('graphql.errors', errors)
  if (failure !== undefined) span.setStatus({ code: SpanStatusCode.ERROR, message: failure instanceof Error ? failure.name : 'failed' })
  else if (errors > 0) span.setStatus({ code: SpanStatusCode.ERROR })
  span.end()
}

/** The headers that pass the trace of a request on to a remote subgraph. */
export function traceHeaders(context: Traced): Record<string, string> {
  const headers: Record<string, string> = {}
  if (context.trace !== undefined) propagation.inject(context.trace, headers)
  return headers
}
