/** A tracer provider over the API of OpenTelemetry, in place of an SDK. It keeps the spans that have ended. */
import { trace } from '@opentelemetry/api'
import type { Attributes, Context, Span, SpanContext, SpanOptions, SpanStatus, Tracer, TracerProvider } from '@opentelemetry/api'

export type EndedSpan = { name: string; attributes: Attributes; status: SpanStatus; context: SpanContext; parent: SpanContext | undefined }

export function makeSpans(): { provider: TracerProvider; ended: EndedSpan[] } {
  const ended: EndedSpan[] = []
  let count = 0
  const hex = (length: number): string => String(++count).padStart(length, '0')

  function startSpan(name: string, options: SpanOptions = {}, context?: Context): Span {
    const parent = context === undefined ? undefined : trace.getSpanContext(context)
    const own: SpanContext = { traceId: parent?.traceId ?? hex(32), spanId: hex(16), traceFlags: 1 }
    const kept: EndedSpan = { name, attributes: { ...options.attributes }, status: { code: 0 }, context: own, parent }
    const span: Span = {
      spanContext: () => own,
      setAttribute(key, value) {
        kept.attributes[key] = value
        return span
      },
      setAttributes(attributes) {
        Object.assign(kept.attributes, attributes)
        return span
      },
      setStatus(status) {
        kept.status = status
        return span
      },
      addEvent: () => span,
      addLink: () => span,
      addLinks: () => span,
      updateName: () => span,
      recordException: () => undefined,
      isRecording: () => true,
      end: () => void ended.push(kept),
    }
    return span
  }

  const startActiveSpan = (): never => {
    throw new Error('Tidemark passes contexts on by itself')
  }
  const tracer: Tracer = { startSpan, startActiveSpan }
  return { provider: { getTracer: () => tracer }, ended }
}
