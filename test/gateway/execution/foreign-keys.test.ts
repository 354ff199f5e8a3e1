/** Keys in answers of remote subgraphs that their fetches did not select. */
import type { ExecutionResult } from 'graphql'
import { parse } from 'graphql'
import { describe, expect, test } from 'vitest'
import { compileForeignKeys } from '../../../gateway/execution/foreign-keys.ts'
import { ask, makeContext, openGraph } from '../engine-graph.ts'
import { json, type Handler } from '../transports/http-subgraph.ts'
import { openRemoteGraph } from '../transports/remote-graph.ts'

const answering =
  (data: object, afterMs = 0): Handler =>
  (_, response) =>
    void setTimeout(() => json(response, { data }), afterMs)

/** The other subgraphs are behind HTTP too, or in the process. */
async function withCatalog(catalog: Handler) {
  const { engine, transports } = await openRemoteGraph({ catalog })
  return [engine, openGraph((name, transport) => (name === 'catalog' ? transports.catalog : transport))]
}

describe('a foreign key', () => {
  test('a foreign key does not change the kept answer of introspection', async () => {
    const catalog = answering({ numbers: [1], __of___schema: { queryType: { name: 'Forged' } } })
    for (const engine of await withCatalog(catalog)) {
      const query = '{ __schema { queryType { name } } numbers }'
      const expected = { data: { __schema: { queryType: { name: 'Query' } }, numbers: [1] } }
      expect(await ask(engine, query)).toEqual(expected)
      expect(await ask(engine, query)).toEqual(expected)
    }
  })

  test('a foreign key at the root does not replace the field of another subgraph, however late it arrives', async () => {
    for (const engine of await withCatalog(answering({ numbers: [1], topScore: 7 }, 100)))
      expect(await ask(engine, '{ numbers topScore }')).toEqual({ data: { numbers: [1], topScore: 99 } })
  })

  test('a foreign key in an object does not fill a field that its subgraph answers with null', async () => {
    const looseFeed = [{ __typename: 'Video', id: '2', viewerProgress: { position: 5 } }]
    for (const engine of await withCatalog(answering({ looseFeed })))
      expect(await ask(engine, '{ looseFeed { id viewerProgress { position } } }')).toEqual({
        data: { looseFeed: [{ id: '2', viewerProgress: null }] },
      })
  })

  test('a foreign key in an object of an entity does not fill a field of another subgraph', async () => {
    const { engine } = await openRemoteGraph({
      history: answering({ _entities: [{ viewerProgress: { subject: { __typename: 'Video', id: '1', viewerMark: 'LIKE' } } }] }),
      thumbup: answering({ _entities: [null] }),
    })
    const { data, errors } = await ask(engine, '{ video(id: "1") { viewerProgress { subject { id viewerMark } } } }')
    expect(data).toEqual({ video: { viewerProgress: null } })
    expect(errors).toMatchObject([{ path: ['video', 'viewerProgress', 'subject', 'viewerMark'] }])
  })

  test('a foreign key in an event of a subscription does not fill a field of another subgraph', async () => {
    const event = { data: { _a_added: { __typename: 'Video', id: '2', viewerProgress: { position: 5 } } } }
    const { engine } = await openRemoteGraph({
      catalog: (_, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' })
        response.end(`event: next\ndata: ${JSON.stringify(event)}\n\nevent: complete\n\n`)
      },
    })
    const operation = engine.prepare('subscription { added(count: 1) { id viewerProgress { position } } }')
    if ('errors' in operation) throw new Error(operation.errors.join())
    const results: unknown[] = []
    for await (const result of (await operation.subscribe(undefined, makeContext())) as AsyncIterable<ExecutionResult>) results.push(result)
    expect(JSON.parse(JSON.stringify(results))).toEqual([{ data: { added: { id: '2', viewerProgress: null } } }])
  })
})

test('keys of fragments, lists and scalars stay, and all other keys are removed', () => {
  const remove = compileForeignKeys(
    parse(`{ list { id ...A ... on B { owner { id } } } again: list { ...A } }
      fragment A on A { extra owner { name } }`),
  )
  const extra = { any: ['key', { of: 'a scalar' }] }
  const data = JSON.parse(
    JSON.stringify({
      list: [[{ id: 1, other: 1, extra, owner: { id: 1, name: 'n', other: [1] } }, null], 'text'],
      again: { id: 1, extra },
      other: {},
    }).replaceAll('"other"', '"__proto__"'),
  ) as Record<string, unknown>
  remove(data)
  expect(JSON.stringify(data)).toBe(
    JSON.stringify({ list: [[{ id: 1, extra, owner: { id: 1, name: 'n' } }, null], 'text'], again: { extra } }),
  )
})
