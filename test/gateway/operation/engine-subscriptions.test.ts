import { describe, expect, test } from 'vitest'
import type { ExecutionResult } from 'graphql'
import { failing, makeContext, openGraph } from '../engine-graph.ts'
import type { GraphContext } from '../engine-graph.ts'

const engine = openGraph()

async function open(query: string, variables: Record<string, unknown>, context: GraphContext = makeContext(), on = engine) {
  const operation = on.prepare(query)
  if ('errors' in operation) throw new Error(String(operation.errors))
  return operation.subscribe(variables, context)
}

function streamOf(opened: ExecutionResult | AsyncIterableIterator<ExecutionResult>): AsyncIterableIterator<ExecutionResult> {
  if (!(Symbol.asyncIterator in opened)) throw new Error(`not a stream: ${JSON.stringify(opened)}`)
  return opened
}

async function all(opened: ExecutionResult | AsyncIterableIterator<ExecutionResult>): Promise<unknown[]> {
  const results = []
  for await (const result of streamOf(opened)) results.push(JSON.parse(JSON.stringify(result)))
  return results
}

describe('subscriptions', () => {
  const QUERY = 'subscription ($n: Int!) { new: added(count: $n) { title score viewerProgress { position } __typename } }'

  test('every event is joined with the other subgraphs, in order', async () => {
    expect(await all(await open(QUERY, { n: 3 }))).toEqual([
      { data: { new: { title: 'v1', score: 11, viewerProgress: { position: 10 }, __typename: 'Video' } } },
      { data: { new: { title: 'v2', score: 21, viewerProgress: null, __typename: 'Video' } } },
      { data: { new: { title: 'v3', score: 31, viewerProgress: { position: 30 }, __typename: 'Video' } } },
    ])
  })

  test('leaving a stream ends its source, also while it waits for an event', async () => {
    const context = makeContext()
    const stream = streamOf(await open(QUERY, { n: 3 }, context))
    await stream.next()
    await stream.return?.()
    expect(context.calls).toContain('source closed')
    expect(await stream.next()).toEqual({ done: true, value: undefined })
  })

  test('an error in one event is in its result, and the next event comes', async () => {
    const context = makeContext({
      'Video.viewerProgress': ({ id }) => (id === '1' ? Promise.reject(new Error('not now')) : { position: 1 }),
    })
    expect(await all(await open('subscription { added(count: 2) { id viewerProgress { position } } }', {}, context))).toEqual([
      { data: { added: { id: '1', viewerProgress: null } }, errors: [{ message: 'not now', path: ['added', 'viewerProgress'] }] },
      { data: { added: { id: '2', viewerProgress: { position: 1 } } } },
    ])
  })

  test('a source that fails gives a last result with the error, and ends', async () => {
    const [last, ...more] = (await all(await open(QUERY, { n: 0 }))) as ExecutionResult[]
    expect(last?.errors?.[0]?.extensions).toEqual({ code: 'SUBGRAPH_UNAVAILABLE' })
    expect(more).toEqual([])
  })

  test('invalid variables and a subgraph that is down give error results', async () => {
    expect(await open(QUERY, {})).toMatchObject({ errors: [{ extensions: { code: 'GRAPHQL_VALIDATION_FAILED' } }] })
    const broken = openGraph(failing('catalog', new Error('down')))
    expect(await open(QUERY, { n: 1 }, makeContext(), broken)).toMatchObject({ errors: [{ extensions: { code: 'SUBGRAPH_UNAVAILABLE' } }] })
  })

  test('another subgraph that is down affects its own fields only', async () => {
    const broken = openGraph(failing('history', new Error('down')))
    expect(
      await all(await open('subscription { added(count: 1) { id viewerProgress { position } } }', {}, makeContext(), broken)),
    ).toMatchObject([
      { data: { added: { id: '1', viewerProgress: null } }, errors: [{ path: ['added'], extensions: { code: 'SUBGRAPH_UNAVAILABLE' } }] },
    ])
  })

  test('a condition on the root field with a variable is refused', () => {
    expect(engine.prepare('subscription ($on: Boolean!) { added(count: 1) @include(if: $on) { title } }')).toMatchObject({
      errors: [
        {
          message: expect.stringContaining('The root field of a subscription') as string,
          extensions: { code: 'GRAPHQL_VALIDATION_FAILED' },
        },
      ],
    })
  })

  test('a wrong condition on the root field is named', () => {
    for (const [directive, sentence] of [
      ['@include', 'is required'],
      ['@skip(if: 5)', 'Boolean cannot represent'],
    ] as const) {
      expect(engine.prepare(`subscription { added(count: 1) ${directive} { title } }`)).toMatchObject({
        errors: [{ message: expect.stringContaining(sentence) as string, extensions: { code: 'GRAPHQL_VALIDATION_FAILED' } }],
      })
    }
  })

  test('a query cannot be subscribed to, and a subscription cannot be executed', async () => {
    expect(await open('{ numbers }', {})).toMatchObject({ errors: [{ extensions: { code: 'BAD_REQUEST' } }] })
    const operation = engine.prepare(QUERY)
    if ('errors' in operation) throw new Error(String(operation.errors))
    expect(await operation.execute({ n: 1 }, makeContext())).toMatchObject({ errors: [{ extensions: { code: 'BAD_REQUEST' } }] })
  })
})
