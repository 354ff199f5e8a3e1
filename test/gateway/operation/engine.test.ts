import { describe, expect, test } from 'vitest'
import { getIntrospectionQuery } from 'graphql'
import { ask, makeContext, openGraph } from '../engine-graph.ts'

const engine = openGraph()

describe('answers', () => {
  test('fields of several subgraphs come in the order of the selection, and no other fields come', async () => {
    const operation = engine.prepare('{ feed(first: 2) { likeCount title viewerProgress { finished position } id } }')
    if ('errors' in operation) throw new Error(String(operation.errors))
    const text = JSON.stringify(await operation.execute(undefined, makeContext()))
    expect(text).toBe(
      '{"data":{"feed":[{"likeCount":7,"title":"v1","viewerProgress":{"finished":false,"position":10},"id":"1"},{"likeCount":14,"title":"v2","viewerProgress":null,"id":"2"}]}}',
    )
  })

  test('keys and types that only the plan needs are not in the answer', async () => {
    expect(await ask(engine, '{ feed(first: 1) { likeCount } }')).toEqual({ data: { feed: [{ likeCount: 7 }] } })
  })

  test('@requires reaches through three subgraphs', async () => {
    expect(await ask(engine, '{ feed(first: 2) { score } }')).toEqual({ data: { feed: [{ score: 11 }, { score: 21 }] } })
  })

  test('the argument of a required field does not change the same field of the client', async () => {
    expect(await ask(engine, '{ feed(first: 1) { size cost mb: size(unit: "mb") } }')).toEqual({
      data: { feed: [{ size: 1_000, cost: 10, mb: 1 }] },
    })
  })

  test('a field with a condition does not replace a required field', async () => {
    const query = 'query ($x: Boolean!) { feed(first: 1) { size @include(if: $x) score ... @skip(if: $x) { id cost } } }'
    expect(await ask(engine, query, { x: true })).toEqual({ data: { feed: [{ size: 1_000, score: 11 }] } })
    expect(await ask(engine, query, { x: false })).toEqual({ data: { feed: [{ score: 11, id: '1', cost: 10 }] } })
    expect(await ask(engine, 'query ($x: Boolean!) { feed(first: 1) { cost @skip(if: $x) size } }', { x: false })).toEqual({
      data: { feed: [{ cost: 10, size: 1_000 }] },
    })
  })

  test('an alias with the name of a key field does not replace the key', async () => {
    expect(await ask(engine, '{ feed(first: 1) { id: title likeCount __typename } }')).toEqual({
      data: { feed: [{ id: 'v1', likeCount: 7, __typename: 'Video' }] },
    })
  })

  test('one field under several aliases and arguments gives each its own value', async () => {
    expect(await ask(engine, '{ feed(first: 1) { a: likeCount b: likeCount(since: 5) likeCount(since: 1) } }')).toEqual({
      data: { feed: [{ a: 7, b: 12, likeCount: 8 }] },
    })
  })

  test('colliding aliases in fragments of different types are kept apart', async () => {
    const query =
      '{ any { ... on Video { n: title x: subtitle m: likeCount } ... on Article { n: headline y: title x: summary m: wordCount } __typename } }'
    expect(await ask(engine, query)).toEqual({
      data: {
        any: [
          { n: 'v1', x: null, m: 7, __typename: 'Video' },
          { n: 'a2', y: 2, x: 's2', m: 102, __typename: 'Article' },
          null,
          { n: 'v3', x: null, m: 21, __typename: 'Video' },
        ],
      },
    })
    expect((await ask(engine, '{ any { ... on Video { n: title } ... on Article { n: words } } }')).errors?.[0]?.extensions).toEqual({
      code: 'GRAPHQL_VALIDATION_FAILED',
    })
  })

  test('fields of one name and different types under separate aliases are kept apart', async () => {
    expect(await ask(engine, '{ any { ... on Video { v: title likes: likeCount } ... on Article { title rating: likeCount } } }')).toEqual({
      data: { any: [{ v: 'v1', likes: 7 }, { title: 2, rating: 1.5 }, null, { v: 'v3', likes: 21 }] },
    })
  })
})

describe('interfaces and entities', () => {
  test('an interface gives the fields of the concrete type', async () => {
    const query =
      'query ($id: ID!) { node(id: $id) { id ... on Article { viewerProgress { position } words } ...V } } fragment V on Video { likeCount }'
    expect(await ask(engine, query, { id: '100' })).toEqual({ data: { node: { id: '100', viewerProgress: { position: 1 }, words: 100 } } })
    expect(await ask(engine, query, { id: '2' })).toEqual({ data: { node: { id: '2', likeCount: 14 } } })
  })

  test('an interface without fragments needs no type', async () => {
    expect(await ask(engine, '{ node(id: "2") { id } }')).toEqual({ data: { node: { id: '2' } } })
  })

  test('an interface object adds its fields to every implementation', async () => {
    expect(await ask(engine, '{ media { __typename name plays ... on Film { minutes } } }')).toEqual({
      data: {
        media: [
          { __typename: 'Film', name: 'Film 1', plays: 200, minutes: 90 },
          { __typename: 'Song', name: 'Song 1', plays: 200 },
        ],
      },
    })
  })

  test('an interface object gets its concrete type from the subgraph that knows it', async () => {
    expect(await ask(engine, '{ topMedia { __typename plays name } }')).toEqual({
      data: { topMedia: { __typename: 'Film', plays: 200, name: 'Film 7' } },
    })
  })

  test('entities below lists of entities are merged into each of their places', async () => {
    expect(await ask(engine, '{ feed { owner { likes } similar { id likeCount owner { likes } } } }')).toEqual({
      data: {
        feed: ['1', '2', '3'].map((id) => ({
          owner: { likes: Number(id) % 2 === 1 ? 41 : 40 },
          similar: (id === '1' ? ['2', '3'] : ['1']).map((other) => ({
            id: other,
            likeCount: Number(other) * 7,
            owner: { likes: 40 + (Number(other) % 2) },
          })),
        })),
      },
    })
  })

  test('the same entity may have different fields under one key in two places', async () => {
    expect(
      await ask(
        engine,
        '{ a: video(id: "1") { owner { x: likes } n: likeCount } b: video(id: "1") { owner { x: name } n: likeCount(since: 2) } }',
      ),
    ).toEqual({
      data: { a: { owner: { x: 41 }, n: 7 }, b: { owner: { x: 'owner o1' }, n: 9 } },
    })
  })

  test('a selection may lead back to its start through another subgraph', async () => {
    expect(await ask(engine, '{ feed(first: 1) { viewerProgress { subject { title likeCount viewerProgress { position } } } } }')).toEqual({
      data: { feed: [{ viewerProgress: { subject: { title: 'v1', likeCount: 7, viewerProgress: { position: 10 } } } }] },
    })
  })

  test('a response key may be __proto__', async () => {
    const operation = engine.prepare('{ feed(first: 1) { __proto__: title likeCount } }')
    if ('errors' in operation) throw new Error(String(operation.errors))
    expect(JSON.stringify(await operation.execute(undefined, makeContext()))).toBe('{"data":{"feed":[{"__proto__":"v1","likeCount":7}]}}')
  })
})

describe('__typename and introspection', () => {
  test('__typename is answered at every level, under aliases too', async () => {
    expect(
      await ask(
        engine,
        '{ __typename feed(first: 1) { t: __typename viewerProgress { __typename } owner { __typename } } any { __typename } }',
      ),
    ).toEqual({
      data: {
        __typename: 'Query',
        feed: [{ t: 'Video', viewerProgress: { __typename: 'Progress' }, owner: { __typename: 'Owner' } }],
        any: [{ __typename: 'Video' }, { __typename: 'Article' }, null, { __typename: 'Video' }],
      },
    })
    expect(await ask(engine, '{ node(id: "1") { t: __typename } n: node(id: "100") { ... on Article { t: __typename } } }')).toEqual({
      data: { node: { t: 'Video' }, n: { t: 'Article' } },
    })
    expect(await ask(engine, 'mutation { __typename }')).toEqual({ data: { __typename: 'Mutation' } })
  })

  test('the introspection query shows the API without the machinery of the supergraph', async () => {
    const { data, errors } = await ask(engine, getIntrospectionQuery())
    expect(errors).toBeUndefined()
    const text = JSON.stringify(data)
    expect(text).toContain('"Video"')
    expect(text).not.toMatch(/HIDDEN|join__|_entities|_Any|link__/)
  })

  test('introspection mixes with fields, fragments and variables', async () => {
    const query =
      'query ($name: String!, $with: Boolean!) { ...S @include(if: $with) feed(first: 1) { likeCount } t: __type(name: $name) { name } } fragment S on Query { __schema { queryType { name } } }'
    expect(await ask(engine, query, { name: 'Owner', with: true })).toEqual({
      data: { __schema: { queryType: { name: 'Query' } }, feed: [{ likeCount: 7 }], t: { name: 'Owner' } },
    })
    expect(await ask(engine, query, { name: 'Nothing', with: false })).toEqual({ data: { feed: [{ likeCount: 7 }], t: null } })
  })
})

describe('conditions', () => {
  const query = `query ($a: Boolean!, $b: Boolean! = true) {
    feed(first: 1) { title @skip(if: $a) likeCount @include(if: $b) ... @include(if: $a) { viewerMark cost } }
    progressCount @skip(if: $a)
  }`
  test('@skip and @include follow the variables of each request', async () => {
    expect(await ask(engine, query, { a: false })).toEqual({ data: { feed: [{ title: 'v1', likeCount: 7 }], progressCount: 7 } })
    expect(await ask(engine, query, { a: true, b: false })).toEqual({ data: { feed: [{ viewerMark: 'NONE', cost: 10 }] } })
    expect(await ask(engine, query, { a: false, b: false })).toEqual({ data: { feed: [{ title: 'v1' }], progressCount: 7 } })
  })

  test('a field is answered if one of its conditions includes it', async () => {
    const twice = 'query ($x: Boolean!, $y: Boolean!) { feed(first: 1) { id likeCount @include(if: $x) likeCount @skip(if: $y) } }'
    expect(await ask(engine, twice, { x: false, y: false })).toEqual({ data: { feed: [{ id: '1', likeCount: 7 }] } })
    expect(await ask(engine, twice, { x: true, y: true })).toEqual({ data: { feed: [{ id: '1', likeCount: 7 }] } })
    expect(await ask(engine, twice, { x: false, y: true })).toEqual({ data: { feed: [{ id: '1' }] } })
  })

  test('nested conditions must all hold', async () => {
    const nested =
      'query ($a: Boolean!, $b: Boolean!) { feed(first: 1) { id ... @include(if: $a) { ... @skip(if: $b) { cost likeCount } } } }'
    expect(await ask(engine, nested, { a: true, b: false })).toEqual({ data: { feed: [{ id: '1', cost: 10, likeCount: 7 }] } })
    expect(await ask(engine, nested, { a: false, b: false })).toEqual({ data: { feed: [{ id: '1' }] } })
  })

  test('constant conditions may exclude every field', async () => {
    expect(await ask(engine, '{ feed @include(if: false) { title } }')).toEqual({ data: {} })
    expect(await ask(engine, '{ feed(first: 1) { title @skip(if: true) id } }')).toEqual({ data: { feed: [{ id: '1' }] } })
  })

  test('a deferred fragment comes with the rest', async () => {
    expect(await ask(engine, '{ feed(first: 1) { id ... @defer { likeCount } } }')).toEqual({ data: { feed: [{ id: '1', likeCount: 7 }] } })
  })
})

describe('variables', () => {
  test('defaults of the operation, of the schema and of input fields apply', async () => {
    expect(await ask(engine, 'query ($n: Int = 1) { feed(first: $n) { id } }')).toEqual({ data: { feed: [{ id: '1' }] } })
    expect(await ask(engine, 'query ($n: Int) { feed(first: $n) { id } }')).toEqual({
      data: { feed: [{ id: '1' }, { id: '2' }, { id: '3' }] },
    })
    expect(await ask(engine, 'query ($e: Echo!, $t: Int! = 2) { echo(input: $e, times: $t) }', { e: { text: 'a' } })).toEqual({
      data: { echo: 'a!a!' },
    })
    expect(await ask(engine, 'query ($s: Int) { feed(first: 1) { likeCount(since: $s) } }', { s: 4 })).toEqual({
      data: { feed: [{ likeCount: 11 }] },
    })
    expect(await ask(engine, 'query ($k: Kind) { kind(as: $k) }', { k: 'CLOSED' })).toEqual({ data: { kind: 'CLOSED' } })
  })

  test('an invalid value refuses the request', async () => {
    const { data, errors } = await ask(engine, 'query ($n: Int!) { feed(first: $n) { id } }', { n: 'many' })
    expect(data).toBeUndefined()
    expect(errors?.[0]?.extensions).toEqual({ code: 'GRAPHQL_VALIDATION_FAILED' })
    expect((await ask(engine, 'query ($k: Kind) { kind(as: $k) }', { k: 'HIDDEN' })).errors?.[0]?.extensions).toEqual({
      code: 'GRAPHQL_VALIDATION_FAILED',
    })
    expect((await ask(engine, 'query ($n: Int!) { feed(first: $n) { id } }')).data).toBeUndefined()
  })
})

describe('mutations', () => {
  test('root fields run one after the other, across subgraphs', async () => {
    const context = makeContext()
    expect(await ask(engine, 'mutation { a: add(n: 1) { value } b: reset(n: 2) c: add(n: 3) { value } }', undefined, context)).toEqual({
      data: { a: { value: 1 }, b: 2, c: { value: 3 } },
    })
    expect(context.calls).toEqual(['add 1 begins', 'add 1 ends', 'reset 2', 'add 3 begins', 'add 3 ends'])
  })

  test('equal root fields under two keys run twice', async () => {
    const context = makeContext()
    await ask(engine, 'mutation { a: add(n: 1) { value } b: add(n: 1) { value } }', undefined, context)
    expect(context.calls).toEqual(['add 1 begins', 'add 1 ends', 'add 1 begins', 'add 1 ends'])
  })

  test('the result of a mutation is joined with other subgraphs', async () => {
    expect(await ask(engine, 'mutation { addAll { title score } }')).toEqual({ data: { addAll: [{ title: 'v1', score: 11 }] } })
  })
})
