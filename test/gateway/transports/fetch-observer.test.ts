import { ProxyTracerProvider, ROOT_CONTEXT, trace } from '@opentelemetry/api'
import { Registry } from '@prometheus-io/client'
import { describe, expect, test } from 'vitest'
import { makeObserver, type FetchNote } from '../../../gateway/transports/fetch-observer.ts'
import { findTracing, makeTracing, traceHeaders } from '../../../gateway/request/tracing.ts'
import { ask, failing, makeContext, openGraph } from '../engine-graph.ts'
import { makeSpans } from '../spans.ts'

const QUERY = 'query Feed { feed(first: 2) { title viewerProgress { position } } }'

function openWatched(down = false) {
  const { provider, ended } = makeSpans()
  const registry = new Registry()
  const tracing = makeTracing(provider.getTracer('test'))
  const observe = makeObserver(registry, tracing)
  const broken = failing('history', new Error('the host is gone'))
  const engine = openGraph((name, transport) => observe(name, down ? broken(name, transport) : transport))
  return { engine, registry, tracing, spans: () => ended }
}

describe('observed fetches', () => {
  test('fetches are counted and timed by subgraph, kind and outcome', async () => {
    const { engine, registry } = openWatched()
    await ask(engine, QUERY)
    await ask(engine, 'mutation { add(n: 1) { value } }')
    const text = await registry.metrics()
    expect(text).toContain('tidemark_subgraph_fetch_seconds_count{subgraph="catalog",kind="query",outcome="ok"} 1')
    expect(text).toContain('tidemark_subgraph_fetch_seconds_count{subgraph="history",kind="query",outcome="ok"} 1')
    expect(text).toContain('tidemark_subgraph_fetch_seconds_count{subgraph="catalog",kind="mutation",outcome="ok"} 1')
  })

  test('fetches with errors and failed fetches are counted, and the answer is the same as without an observer', async () => {
    const { engine, registry } = openWatched(true)
    const act = { 'Video.title': () => new Error('no title') }
    const query = '{ feed(first: 1) { id viewerProgress { position } } looseFeed { title } }'
    const unwatched = openGraph(failing('history', new Error('the host is gone')))
    expect(await ask(engine, query, undefined, makeContext(act))).toEqual(await ask(unwatched, query, undefined, makeContext(act)))
    const text = await registry.metrics()
    expect(text).toContain('{subgraph="catalog",kind="query",outcome="errors"} 1')
    expect(text).toContain('{subgraph="history",kind="query",outcome="failed"} 1')
  })

  test('fetches are noted with their representations and times if the client asked for the plan', async () => {
    const { engine } = openWatched()
    const plan = { startedAt: performance.now(), fetches: [] as FetchNote[] }
    await ask(engine, QUERY, undefined, { ...makeContext(), plan } as never)
    expect(plan.fetches.map(({ subgraph, kind, entities, errors }) => ({ subgraph, kind, entities, errors }))).toEqual([
      { subgraph: 'catalog', kind: 'query', entities: undefined, errors: 0 },
      { subgraph: 'history', kind: 'query', entities: 2, errors: 0 },
    ])
    expect(plan.fetches[0]?.operation).toContain('feed(first: 2)')
    expect(plan.fetches[1]?.startMs).toBeGreaterThanOrEqual(plan.fetches[0]?.tookMs ?? Infinity)
  })

  test('spans of fetches are below the span of the operation, in the trace of the caller, and do not name the viewer', async () => {
    const { engine, tracing, spans } = openWatched()
    const operation = tracing.beginOperation('query', 'Feed', ROOT_CONTEXT)
    await ask(engine, QUERY, undefined, { ...makeContext(), trace: operation.context } as never)
    operation.end(0)
    const [catalog, history, root] = spans()
    expect([catalog?.name, history?.name, root?.name]).toEqual(['fetch catalog', 'fetch history', 'query Feed'])
    expect(history?.parent?.spanId).toBe(root?.context.spanId)
    expect(history?.context.traceId).toBe(root?.context.traceId)
    expect(Object.keys(history?.attributes ?? {})).toEqual(['tidemark.subgraph', 'graphql.operation.type'])
    expect(Object.keys(root?.attributes ?? {})).toEqual(['graphql.operation.type', 'graphql.operation.name'])
  })

  test('a failed fetch has a span with an error', async () => {
    const { engine, spans } = openWatched(true)
    await ask(engine, QUERY)
    expect(spans().map(({ name, status }) => [name, status.code])).toEqual([
      ['fetch catalog', 0],
      ['fetch history', 2],
    ])
  })
})

describe('tracing', () => {
  test('tracing is off without an SDK, and on as soon as one is loaded', () => {
    expect(trace.getTracerProvider()).toBeInstanceOf(ProxyTracerProvider)
    expect(findTracing()).toBeUndefined()
    expect(traceHeaders({})).toEqual({})
    trace.setGlobalTracerProvider(makeSpans().provider)
    try {
      expect(findTracing()).toBeDefined()
    } finally {
      trace.disable()
    }
  })
})
