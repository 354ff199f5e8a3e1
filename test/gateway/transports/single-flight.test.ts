import { describe, expect, test } from 'vitest'
import { connectTo, fetchOf, json, startSubgraph } from './http-subgraph.ts'
import type { HttpSubgraph } from './http-subgraph.ts'

const QUERY = '{ list { id tags } }'
const answer = () => ({ data: { list: [{ id: '1', tags: ['a'] }] } })

/** A subgraph with answers that wait until they are released, oldest first. */
async function startGated(): Promise<HttpSubgraph & { waiting(): number; release(body?: unknown): void }> {
  const held: ((body: unknown) => void)[] = []
  const subgraph = await startSubgraph((_, response) => void held.push((body) => json(response, body)))
  return { ...subgraph, waiting: () => held.length, release: (body = answer()) => held.shift()?.(body) }
}

describe('identical queries under way', () => {
  test('identical queries are one call', async () => {
    const subgraph = await startGated()
    const transport = connectTo(subgraph)
    const asked = [1, 2, 3].map(() => fetchOf(transport, QUERY).run({ x: 1 }, {}))
    await expect.poll(subgraph.waiting).toBe(1)
    subgraph.release()
    for (const result of await Promise.all(asked)) expect(result).toEqual(answer())
    expect(subgraph.received).toHaveLength(1)
    expect(transport.joined()).toBe(2)
  })

  test('identical queries are separate calls with dedupe off', async () => {
    const subgraph = await startSubgraph((_, response) => json(response, answer()))
    const fetch = fetchOf(connectTo(subgraph, { dedupe: false }), QUERY)
    await Promise.all([1, 2, 3].map(() => fetch.run({ x: 1 }, {})))
    expect(subgraph.received).toHaveLength(3)
  })

  test('identical queries each get their own tree: a change by one is invisible to the others', async () => {
    const subgraph = await startGated()
    const fetch = fetchOf(connectTo(subgraph), QUERY)
    const asked = [1, 2, 3].map(async (taker) => {
      const { list } = (await fetch.run({}, {})).data as { list: { id: string; tags: string[] }[] }
      expect(list).toEqual([{ id: '1', tags: ['a'] }])
      list[0]?.tags.push(`written by ${taker}`)
      Object.assign(list[0] ?? {}, { id: taker })
      list.push({ id: 'x', tags: [] })
    })
    await expect.poll(subgraph.waiting).toBe(1)
    subgraph.release()
    await Promise.all(asked)
  })

  test('identical queries fail together, and the next one is a new call', async () => {
    const subgraph = await startSubgraph((_, __, socket) => void socket.destroy())
    const fetch = fetchOf(connectTo(subgraph, { retries: 0 }), QUERY)
    const outcomes = await Promise.allSettled([fetch.run({}, {}), fetch.run({}, {})])
    expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
    expect(subgraph.received).toHaveLength(1)
    subgraph.handle((_, response) => json(response, answer()))
    expect(await fetch.run({}, {})).toEqual(answer())
  })

  test('an answer that has arrived is not kept', async () => {
    const subgraph = await startSubgraph((_, response) => json(response, answer()))
    const fetch = fetchOf(connectTo(subgraph), QUERY)
    await fetch.run({}, {})
    await fetch.run({}, {})
    expect(subgraph.received).toHaveLength(2)
  })
})

describe('different queries', () => {
  test('queries with different variables are separate calls', async () => {
    const subgraph = await startSubgraph((_, response) => json(response, answer()))
    const fetch = fetchOf(connectTo(subgraph), QUERY)
    await Promise.all([fetch.run({ x: 1 }, {}), fetch.run({ x: 2 }, {}), fetch.run({ x: '1' }, {})])
    expect(subgraph.received).toHaveLength(3)
  })

  test('queries with different headers are separate calls: no viewer gets the answer of another', async () => {
    const subgraph = await startSubgraph(
      ({ headers }, response) => void setTimeout(() => json(response, { data: { me: headers['x-viewer'] ?? 'nobody' } }), 20),
    )
    const headers = (context: object) => ('viewer' in context ? { 'x-viewer': String(context.viewer) } : {})
    const transport = connectTo(subgraph, { headers: headers as () => Record<string, string> })
    const fetch = fetchOf(transport, '{ me }')
    const viewers = ['1', '2', '1', '2', undefined]
    const answers = await Promise.all(viewers.map((viewer) => fetch.run({}, viewer === undefined ? {} : { viewer })))
    expect(answers.map((result) => result.data)).toEqual(viewers.map((viewer) => ({ me: viewer ?? 'nobody' })))
    expect(subgraph.received).toHaveLength(3)
    expect(transport.joined()).toBe(2)
  })

  test('queries that differ in headers that no answer depends on share a call', async () => {
    const subgraph = await startGated()
    let trace = 0
    const fetch = fetchOf(connectTo(subgraph, { traceHeaders: () => ({ traceparent: String((trace += 1)) }) }), QUERY)
    const asked = [fetch.run({}, {}), fetch.run({}, {})]
    await expect.poll(subgraph.waiting).toBe(1)
    subgraph.release()
    await Promise.all(asked)
    expect(subgraph.received).toHaveLength(1)
  })

  test('mutations are separate calls, even equal ones', async () => {
    const subgraph = await startSubgraph((_, response) => void setTimeout(() => json(response, { data: { add: 1 } }), 20))
    const fetch = fetchOf(connectTo(subgraph), 'mutation { add }', 'mutation')
    await Promise.all([fetch.run({}, {}), fetch.run({}, {})])
    expect(subgraph.received).toHaveLength(2)
  })
})

describe('reading own writes', () => {
  test('a query after an acknowledged mutation does not join a call from before', async () => {
    let stored = 'old'
    const held: (() => void)[] = []
    const subgraph = await startSubgraph(({ body }, response) => {
      if (body.includes('mutation')) {
        stored = 'new'
        return json(response, { data: { put: true } })
      }
      const read = stored
      held.push(() => json(response, { data: { value: read } }))
    })
    const transport = connectTo(subgraph)
    const query = fetchOf(transport, '{ value }')
    const before = query.run({}, {})
    await expect.poll(() => held.length).toBe(1)
    await fetchOf(transport, 'mutation { put }', 'mutation').run({}, {})
    const after = query.run({}, {})
    const joining = query.run({}, {})
    await expect.poll(() => held.length).toBe(2)
    for (const release of held) release()
    expect([await before, await after, await joining]).toEqual([
      { data: { value: 'old' } },
      { data: { value: 'new' } },
      { data: { value: 'new' } },
    ])
    expect(subgraph.received).toHaveLength(3)
  })

  test('a failed mutation may have taken effect, and ends a generation too', async () => {
    const held: (() => void)[] = []
    const subgraph = await startSubgraph(({ body }, response, socket) => {
      if (body.includes('mutation')) socket.destroy()
      else held.push(() => json(response, answer()))
    })
    const transport = connectTo(subgraph)
    const query = fetchOf(transport, QUERY)
    const before = query.run({}, {})
    await expect.poll(() => held.length).toBe(1)
    await Promise.allSettled([fetchOf(transport, 'mutation { put }', 'mutation').run({}, {})])
    const after = query.run({}, {})
    await expect.poll(() => held.length).toBe(2)
    for (const release of held) release()
    await Promise.all([before, after])
  })

  test('the end of a call from before the mutation does not remove the new one: the next query joins the new one', async () => {
    const held: (() => void)[] = []
    const subgraph = await startSubgraph(({ body }, response) => {
      if (body.includes('mutation')) return json(response, { data: { put: true } })
      held.push(() => json(response, answer()))
    })
    const transport = connectTo(subgraph)
    const query = fetchOf(transport, QUERY)
    const before = query.run({}, {})
    await expect.poll(() => held.length).toBe(1)
    await fetchOf(transport, 'mutation { put }', 'mutation').run({}, {})
    const after = query.run({}, {})
    await expect.poll(() => held.length).toBe(2)
    held[0]?.()
    await before
    const joining = query.run({}, {})
    expect(transport.joined()).toBe(1)
    held[1]?.()
    await Promise.all([after, joining])
    expect(held).toHaveLength(2)
  })
})
