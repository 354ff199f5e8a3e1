import { propagation, trace, type TextMapPropagator } from '@opentelemetry/api'
import { Registry } from '@prometheus-io/client'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { makeObserver } from '../../../gateway/transports/fetch-observer.ts'
import { makeTracing } from '../../../gateway/request/tracing.ts'
import { post, startServer, type TestServer } from '../../support/front-schema.ts'
import { openGraph } from '../engine-graph.ts'
import { makeSpans } from '../spans.ts'

const QUERY = 'query Feed($first: Int!) { feed(first: $first) { viewerProgress { position } } }'
const PARENT = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
const { provider, ended } = makeSpans()
const tracing = makeTracing(provider.getTracer('test'))
/** Reads `traceparent` like the propagator of an SDK. */
const propagator: TextMapPropagator = {
  extract(context, headers, getter) {
    const [, traceId, spanId] = /^00-(\w{32})-(\w{16})-01$/.exec(String(getter.get(headers, 'traceparent'))) ?? []
    return traceId === undefined || spanId === undefined ? context : trace.setSpanContext(context, { traceId, spanId, traceFlags: 1 })
  },
  inject: () => undefined,
  fields: () => ['traceparent'],
}
let servers: Record<'development' | 'production', TestServer>

beforeAll(async () => {
  propagation.setGlobalPropagator(propagator)
  const open = (mode: 'development' | 'production') => {
    const observe = makeObserver(new Registry(), tracing)
    const engine = openGraph((name, transport) => observe(name, transport))
    const makeContext = () => ({ act: {}, calls: [] })
    return startServer({ mode, engine, auth: { secret: 's'.repeat(32) }, more: { tracing, makeContext } })
  }
  servers = { development: await open('development'), production: await open('production') }
})
afterAll(async () => {
  propagation.disable()
  for (const server of Object.values(servers)) await server.close()
})

async function ask(mode: 'development' | 'production', headers: Record<string, string> = {}) {
  const { json } = await post(servers[mode].url, { query: QUERY, variables: { first: 2 } }, headers)
  return json as { data: unknown; extensions?: { plan?: { subgraph: string; entities?: number }[] } }
}

describe('an observed operation', () => {
  test('shows its plan to a client that asks for it in development', async () => {
    const { data, extensions } = await ask('development', { 'x-tidemark-plan': '1' })
    expect(extensions?.plan?.map(({ subgraph, entities }) => [subgraph, entities])).toEqual([
      ['catalog', undefined],
      ['history', 2],
    ])
    expect((await ask('development')).data).toEqual(data)
    expect(await ask('development')).not.toHaveProperty('extensions')
  })

  test('shows no plan in production', async () => {
    expect(await ask('production', { 'x-tidemark-plan': '1' })).not.toHaveProperty('extensions')
  })

  test("is a span in its caller's trace, above the spans of its fetches, and no span names variables or viewers", async () => {
    ended.length = 0
    await ask('development', { traceparent: PARENT, 'x-viewer-id': 'secret-viewer' })
    const spans = [...ended]
    expect(spans.map(({ name }) => name).sort()).toEqual(['fetch catalog', 'fetch history', 'query Feed'])
    const operation = spans.find(({ name }) => name === 'query Feed')
    expect(operation?.parent?.spanId).toBe('b7ad6b7169203331')
    for (const span of spans) {
      expect(span.context.traceId).toBe('0af7651916cd43dd8448eb211c80319c')
      if (span !== operation) expect(span.parent?.spanId).toBe(operation?.context.spanId)
      expect(JSON.stringify(span.attributes)).not.toContain('secret-viewer')
    }
  })
})
