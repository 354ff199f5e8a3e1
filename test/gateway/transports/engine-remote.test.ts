import { describe, expect, test } from 'vitest'
import type { ExecutionResult } from 'graphql'
import { ask, graphSchema, makeContext, openGraph } from '../engine-graph.ts'
import type { Plain } from '../engine-graph.ts'
import type { Handler } from './http-subgraph.ts'
import { json } from './http-subgraph.ts'
import { openRemoteGraph, serving } from './remote-graph.ts'

const FEED = '{ looseFeed { id likeCount viewerProgress { position } } numbers }'
/** The answer without thumbup: its likeCount is non-null. */
const WITHOUT_PROGRESS = {
  looseFeed: [
    { id: '1', likeCount: 7, viewerProgress: null },
    null,
    { id: '2', likeCount: 14, viewerProgress: null },
    { id: '3', likeCount: 21, viewerProgress: null },
  ],
  numbers: [1, 2, 3],
}

describe('subgraphs behind HTTP', () => {
  const operations: [string, Record<string, unknown>?][] = [
    [FEED],
    ['{ any { __typename ... on Video { id: title score } ... on Article { wordCount title n: likeCount } } }'],
    ['{ feed { similar { id who: owner { likes best { viewerMark } } } } }'],
    ['query ($first: Int!, $since: Int) { feed(first: $first) { id likeCount(since: $since) tags } }', { first: 5, since: 3 }],
    ['{ media { __typename name plays } topMedia { name plays ... on Film { minutes } } }'],
    ['mutation { a: add(n: 1) { value } reset(n: 2) b: add(n: 3) { value } }'],
    ['{ feed { a: cost score viewerProgress { subject { title owner { name } } } } kind(as: HIDDEN) }'],
    ['{ video(id: "none") { id likeCount } echo(input: { text: "\\"ü\\"" }) __typename }'],
  ]
  test('subgraphs behind HTTP answer as in the process', async () => {
    const local = openGraph()
    const { engine } = await openRemoteGraph()
    for (const [query, variables] of operations) expect(await ask(engine, query, variables)).toEqual(await ask(local, query, variables))
  })

  test('a subgraph behind HTTP is asked for each entity of a path once', async () => {
    const { engine, subgraphs } = await openRemoteGraph()
    await ask(engine, '{ feed(first: 5) { owner { likes } } }')
    expect(JSON.parse(subgraphs.thumbup.received[0]?.body ?? '')).toMatchObject({
      variables: {
        representations: [
          { __typename: 'Owner', id: 'o1' },
          { __typename: 'Owner', id: 'o0' },
        ],
      },
    })
  })

  test('subgraphs behind HTTP stream subscriptions, each event joined with other subgraphs', async () => {
    const { engine } = await openRemoteGraph()
    const operation = engine.prepare('subscription { added(count: 2) { id likeCount } }')
    if ('errors' in operation) throw new Error(operation.errors.join())
    const results: unknown[] = []
    for await (const result of (await operation.subscribe(undefined, makeContext())) as AsyncIterable<ExecutionResult>) results.push(result)
    expect(JSON.parse(JSON.stringify(results))).toEqual([
      { data: { added: { id: '1', likeCount: 7 } } },
      { data: { added: { id: '2', likeCount: 14 } } },
    ])
  })
})

describe('requests that share a call', () => {
  test('requests that share a call do not see the fields that others add to its answer', async () => {
    const { engine, subgraphs, transports } = await openRemoteGraph()
    const query = 'query ($since: Int) { feed { id likeCount(since: $since) owner { likes } viewerProgress { position } } }'
    const sinces = Array.from({ length: 30 }, (_, since) => since)
    const answers = await Promise.all(sinces.map((since) => ask(engine, query, { since })))
    for (const [since, { data, errors }] of answers.entries()) {
      expect(errors).toBeUndefined()
      expect((data as { feed: { id: string; likeCount: number }[] }).feed.map(({ id, likeCount }) => likeCount - Number(id) * 7)).toEqual([
        since,
        since,
        since,
      ])
    }
    expect(subgraphs.catalog.received.length).toBeLessThan(30)
    expect(transports.catalog.joined()).toBeGreaterThan(0)
    expect(subgraphs.thumbup.received.length).toBeGreaterThan(29)
  })

  test('requests that share a call do not see the fields that another lost', async () => {
    let calls = 0
    const thumbup = serving(graphSchema('thumbup'))
    const { engine } = await openRemoteGraph({
      thumbup: (received, response, socket) => ((calls += 1) === 1 ? json(response, '<h1>', 500) : thumbup(received, response, socket)),
    })
    const query = 'query ($since: Int) { looseFeed { id likeCount(since: $since) } }'
    const answers = await Promise.all([1, 2, 3, 4].map((since) => ask(engine, query, { since })))
    expect(answers.filter(({ errors }) => errors !== undefined)).toHaveLength(1)
    expect(answers.filter(({ data }) => (data as { looseFeed: unknown[] }).looseFeed[0] !== null)).toHaveLength(3)
  })
})

describe('a broken subgraph', () => {
  const broken: [string, Handler][] = [
    ['HTML', (_, response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<html>')],
    ['HTTP 500', (_, response) => json(response, 'oh no', 500)],
    ['truncated JSON', (_, response) => json(response, '{"data":{"_entities":[{"viewerPro')],
    ['JSON of another kind', (_, response) => json(response, { ok: true })],
    ['nothing, ever', () => {}],
    ['a connection that breaks', (_, __, socket) => void socket.destroy()],
    [
      'an answer without end',
      (_, response) => {
        response.writeHead(200, { 'content-type': 'application/json' })
        const chunk = Buffer.alloc(65_536, ' ')
        const more = (): void => {
          while (!response.destroyed && response.write(chunk));
        }
        response.on('drain', more)
        more()
      },
    ],
    ['errors without codes', (_, response) => json(response, { errors: [{ message: 'no' }] })],
  ]
  for (const [name, history] of broken) {
    test(`${name} costs only its own fields, in time, with a code`, async () => {
      const { engine } = await openRemoteGraph({ history }, { timeoutMs: 300, bodyBytesMax: 1_000_000 })
      const begun = performance.now()
      const { data, errors } = await ask(engine, FEED)
      expect(performance.now() - begun).toBeLessThan(2_000)
      expect(data).toEqual(WITHOUT_PROGRESS)
      expect(errors).toHaveLength(1)
      // An error without a code gets SUBGRAPH_ERROR from the front.
      expect(errors?.[0]?.extensions?.['code']).toBe(name === 'errors without codes' ? undefined : 'SUBGRAPH_UNAVAILABLE')
      expect(errors?.[0]?.path).toEqual(['looseFeed'])
      expect(errors?.[0]?.message).not.toMatch(/does not answer: the subgraph/)
    })
  }
})

describe('an answer with values of wrong types', () => {
  const deep = (count: number) => `${'['.repeat(count)}${']'.repeat(count)}`
  const lies: [string, unknown][] = [
    ['a text for an object', [{ viewerProgress: 'far' }, null, null]],
    ['a text for an Int', [{ viewerProgress: { position: 'far' } }, null, null]],
    ['an object with names of methods for an Int', [{ viewerProgress: { position: { toString: 1, valueOf: 1 } } }, null, null]],
    ['a list for an object', [{ viewerProgress: [{ position: 1 }] }, null, null]],
    ['numbers for entities', [1, 2, 3]],
    ['too few entities', [null]],
    ['a text for the entities', 'none'],
    [
      'an entity that sets a prototype',
      [JSON.parse('{"__proto__":{"viewerProgress":{"position":true}},"viewerProgress":null}'), null, null],
    ],
  ]
  for (const [name, _entities] of lies) {
    test(`${name}: the place is null`, async () => {
      const { engine } = await openRemoteGraph({ history: (_, response) => json(response, { data: { _entities } }) })
      expect((await ask(engine, FEED)).data).toEqual(WITHOUT_PROGRESS)
    })
  }

  test('endlessly nested lists: the place is null', async () => {
    const { engine } = await openRemoteGraph({
      history: (_, response) => json(response, `{"data":{"_entities":[{"viewerProgress":${deep(200_000)}},null,null]}}`),
    })
    expect((await ask(engine, FEED)).data).toEqual(WITHOUT_PROGRESS)
  })

  test('endlessly nested lists in place of entities: no entities, and the rest is answered', async () => {
    const feeds: [string, Handler][] = [
      ['alone', (_, response) => json(response, `{"data":{"looseFeed":${deep(200_000)},"numbers":[1,2,3]}}`)],
      ['shared', (_, response) => void setTimeout(() => json(response, `{"data":{"looseFeed":${deep(200_000)},"numbers":[1,2,3]}}`), 20)],
    ]
    for (const [name, catalog] of feeds) {
      const { engine } = await openRemoteGraph({ catalog })
      const asked = (name === 'alone' ? [1] : [1, 2]).map(() => ask(engine, `{ looseFeed { id likeCount } numbers topScore }`))
      for (const { data, errors } of await Promise.all(asked)) {
        expect((data as { topScore: number }).topScore).toBe(99)
        expect(errors?.length).toBeGreaterThan(0)
      }
    }
  })

  test('objects that two subgraphs nest endlessly into each other are null with an error', async () => {
    const nested = `${'{"position":'.repeat(200_000)}1${'}'.repeat(200_000)}`
    const { engine } = await openRemoteGraph({
      catalog: (_, response) =>
        json(response, `{"data":{"looseFeed":[{"__typename":"Video","id":"1","viewerProgress":${nested}}],"numbers":[1,2,3]}}`),
      history: (_, response) => json(response, `{"data":{"_entities":[{"viewerProgress":${nested}}]}}`),
    })
    const { data, errors } = await ask(engine, FEED)
    expect(data).toEqual({ looseFeed: [{ id: '1', likeCount: 7, viewerProgress: null }], numbers: [1, 2, 3] })
    expect(errors).toMatchObject([{ path: ['looseFeed', 0, 'viewerProgress', 'position'], extensions: { code: 'SUBGRAPH_ERROR' } }])
  })

  test('entities beside endlessly nested lists are fetched, and their errors have paths', async () => {
    const looseFeed = `[{"__typename":"Video","id":"1"},${deep(200_000)}]`
    const { engine } = await openRemoteGraph({
      catalog: (_, response) => json(response, `{"data":{"looseFeed":${looseFeed},"numbers":[1,2,3]}}`),
      history: (_, response) => json(response, 'no', 500),
    })
    const { data, errors } = await ask(engine, FEED)
    expect(data).toEqual({ looseFeed: [{ id: '1', likeCount: 7, viewerProgress: null }, null], numbers: [1, 2, 3] })
    expect(errors?.map(({ path }) => path)).toContainEqual(['looseFeed', 0])
  })

  test('an answer with thousands of errors for the same places is answered in time', async () => {
    const errors = Array.from({ length: 20_000 }, (_, index) => ({ message: 'no', path: ['_entities', index % 3, 'viewerProgress'] }))
    const { engine } = await openRemoteGraph({
      history: (_, response) => json(response, { data: { _entities: [null, null, null] }, errors }),
    })
    const begun = performance.now()
    const answer: Plain = await ask(engine, FEED)
    expect(performance.now() - begun).toBeLessThan(4_000)
    expect(answer.data).toEqual(WITHOUT_PROGRESS)
    expect(answer.errors).toHaveLength(1_000)
  })

  test('a mutation without an answer is sent once, and gets an error', async () => {
    let calls = 0
    const { engine } = await openRemoteGraph({
      history: (_, __, socket) => {
        calls += 1
        socket.destroy()
      },
    })
    const { data, errors } = await ask(engine, 'mutation { reset(n: 1) }')
    expect(data).toBeNull()
    expect(errors).toMatchObject([{ path: ['reset'], extensions: { code: 'SUBGRAPH_UNAVAILABLE' } }])
    expect(calls).toBe(1)
  })
})
