import { describe, expect, test } from 'vitest'
import { GraphQLError } from 'graphql'
import { TidemarkError } from '../../../core/errors.ts'
import type { Transport } from '../../../gateway/transports/transport.ts'
import { ask, failing, makeContext, openGraph } from '../engine-graph.ts'
import type { SubgraphName } from '../engine-graph.ts'

const engine = openGraph()
const throwing = (message: string) => () => {
  throw new Error(message)
}

function endless(): unknown[] {
  let list: unknown[] = []
  for (let depth = 0; depth < 100_000; depth += 1) list = [list]
  return list
}

/** A subgraph with changed answers. */
function changing(wanted: SubgraphName, change: (data: Record<string, unknown>) => unknown) {
  return (name: SubgraphName, transport: Transport): Transport => {
    if (name !== wanted) return transport
    return {
      ...transport,
      compile(operation) {
        const fetch = transport.compile(operation)
        return {
          ...fetch,
          async run(variables, context) {
            const result = await fetch.run(variables, context)
            return { ...result, data: change(result.data ?? {}) as Record<string, unknown> }
          },
        }
      },
    }
  }
}

describe('a failed field', () => {
  test('a nullable field is null, with the path of the client, and the rest stays', async () => {
    const context = makeContext({
      'Video.viewerProgress': ({ id }) => (id === '2' ? throwing('no progress today')() : { position: 1, finished: true }),
    })
    expect(await ask(engine, '{ list: feed { id p: viewerProgress { position } likeCount } }', undefined, context)).toEqual({
      data: {
        list: [
          { id: '1', p: { position: 1 }, likeCount: 7 },
          { id: '2', p: null, likeCount: 14 },
          { id: '3', p: { position: 1 }, likeCount: 21 },
        ],
      },
      errors: [{ message: 'no progress today', path: ['list', 1, 'p'] }],
    })
  })

  test('a failed non-null field of an entity makes its list item null, at its index', async () => {
    const context = makeContext({ 'Video.likeCount': ({ id }) => (id === '2' ? throwing('no count')() : 5) })
    expect(await ask(engine, '{ looseFeed { id n: likeCount } }', undefined, context)).toEqual({
      data: { looseFeed: [{ id: '1', n: 5 }, null, null, { id: '3', n: 5 }] },
      errors: [{ message: 'no count', path: ['looseFeed', 2, 'n'] }],
    })
  })

  test('an invalid null propagates to the nearest nullable parent, up to data', async () => {
    const context = makeContext({ 'Video.likeCount': throwing('no count') })
    const { data, errors } = await ask(engine, '{ feed(first: 1) { id likeCount } }', undefined, context)
    expect(data).toBeNull()
    expect(errors).toEqual([{ message: 'no count', path: ['feed', 0, 'likeCount'] }])
  })

  test('errors below lists of entities have all indexes', async () => {
    const context = makeContext({ 'Video.subtitle': ({ id }) => id, 'Owner.likes': ({ id }) => (id === 'o0' ? throwing('no likes')() : 1) })
    const { data, errors } = await ask(engine, '{ feed(first: 1) { similar { id who: owner { l: likes } } } }', undefined, context)
    expect(data).toEqual({
      feed: [
        {
          similar: [
            { id: '2', who: { l: null } },
            { id: '3', who: { l: 1 } },
          ],
        },
      ],
    })
    expect(errors).toEqual([{ message: 'no likes', path: ['feed', 0, 'similar', 0, 'who', 'l'] }])
  })

  test('an entity that is fetched once for several places fails in each of them', async () => {
    const context = makeContext({ 'Owner.likes': ({ id }) => (id === 'o1' ? throwing('no likes')() : 1) })
    const { errors } = await ask(engine, '{ feed { owner { likes } } }', undefined, context)
    expect(errors?.map(({ path }) => path)).toEqual([
      ['feed', 0, 'owner', 'likes'],
      ['feed', 2, 'owner', 'likes'],
    ])
  })

  test('the path of an error ends where the selection of the client ends', async () => {
    const context = makeContext({ 'Video.size': throwing('no size') })
    const { data, errors } = await ask(engine, '{ looseFeed { id score } }', undefined, context)
    expect(data).toEqual({ looseFeed: [null, null, null, null] })
    expect(errors?.filter(({ message }) => message === 'no size').map(({ path }) => path)).toEqual([
      ['looseFeed', 0],
      ['looseFeed', 2],
      ['looseFeed', 3],
    ])
  })

  test('an excluded field does not run', async () => {
    const query = `query ($x: Boolean!) { owner { best { score @skip(if: $x) ... on Video @skip(if: $x) { ...V @include(if: $x) viewerProgress { position } } } } }
      fragment V on Video { owner { likes } }`
    const context = makeContext({ 'Owner.likes': throwing('no likes') })
    expect(await ask(engine, query, { x: true }, context)).toEqual({ data: { owner: { best: {} } } })
  })

  test('message, path and code of an error of a resolver are kept', async () => {
    const context = makeContext({
      'Query.topScore': () => {
        throw new TidemarkError('HOT_STORE_UNAVAILABLE', 'the hot store does not answer')
      },
      'Query.broken': () => {
        throw new GraphQLError('mine', { extensions: { code: 'MY_CODE', hint: 1 } })
      },
    })
    const { data, errors } = await ask(engine, '{ s: topScore broken }', undefined, context)
    expect(data).toEqual({ s: null, broken: null })
    expect(errors?.find(({ path }) => path?.[0] === 's')).toMatchObject({
      message: 'the hot store does not answer',
      extensions: { code: 'HOT_STORE_UNAVAILABLE' },
    })
    expect(errors).toContainEqual({ message: 'mine', path: ['broken'], extensions: { code: 'MY_CODE', hint: 1 } })
  })
})

describe('a failed fetch', () => {
  test('a failed fetch gives one error at its place, and keeps the rest', async () => {
    const broken = openGraph(failing('history', new Error('connection refused')))
    expect(await ask(broken, '{ feed(first: 2) { id viewerProgress { position } likeCount } }')).toEqual({
      data: {
        feed: [
          { id: '1', viewerProgress: null, likeCount: 7 },
          { id: '2', viewerProgress: null, likeCount: 14 },
        ],
      },
      errors: [
        {
          message: 'The subgraph "history" does not answer: connection refused',
          path: ['feed'],
          extensions: { code: 'SUBGRAPH_UNAVAILABLE' },
        },
      ],
    })
  })

  test('the path of a failed fetch with one place has the index of that place', async () => {
    const broken = openGraph(failing('thumbup', new Error('down')))
    const { data, errors } = await ask(broken, '{ feed(first: 1) { viewerProgress { position } owner { likes } } }')
    expect(data).toEqual({ feed: [{ viewerProgress: { position: 10 }, owner: { likes: null } }] })
    expect(errors?.map(({ path }) => path)).toEqual([['feed', 0, 'owner']])
  })

  test('a failed fetch adds no further errors for the nulls that propagate', async () => {
    const broken = openGraph(failing('thumbup', new Error('down')))
    const { data, errors } = await ask(broken, '{ looseFeed { id likeCount } owner { name } }')
    expect(data).toEqual({ looseFeed: [null, null, null, null], owner: { name: 'owner o1' } })
    expect(errors).toHaveLength(1)
  })

  test('fetches that need the data of a failed fetch are not sent', async () => {
    const broken = openGraph(failing('history', new Error('down')))
    const context = makeContext({ 'Video.score': throwing('was asked for its score') })
    const { data, errors } = await ask(broken, '{ looseFeed { id score } }', undefined, context)
    expect(data).toEqual({ looseFeed: [null, null, null, null] })
    expect(errors?.map(({ message }) => message)).not.toContain('was asked for its score')
  })

  test('a failed fetch at the root nulls its own fields only', async () => {
    const broken = openGraph(failing('thumbup', new Error('down')))
    expect(await ask(broken, '{ t: topScore numbers }')).toEqual({
      data: { t: null, numbers: [1, 2, 3] },
      errors: [{ message: 'The subgraph "thumbup" does not answer: down', path: ['t'], extensions: { code: 'SUBGRAPH_UNAVAILABLE' } }],
    })
  })

  test('a failed fetch keeps its own code', async () => {
    const broken = openGraph(failing('thumbup', new GraphQLError('slow down', { extensions: { code: 'TOO_MANY' } })))
    expect((await ask(broken, '{ topScore }')).errors).toEqual([
      { message: 'slow down', path: ['topScore'], extensions: { code: 'TOO_MANY' } },
    ])
  })

  test('a transport that throws is handled like one that rejects', async () => {
    const broken = openGraph((name, transport) =>
      name === 'thumbup' ? { ...transport, compile: () => ({ run: throwing('at once'), subscribe: throwing('at once') }) } : transport,
    )
    expect((await ask(broken, '{ topScore numbers }')).errors).toHaveLength(1)
  })
})

describe('missing entities', () => {
  const gone = { 'Query.video': () => ({ id: 'gone' }) }
  test('nullable fields of a missing entity are null', async () => {
    const missing = openGraph(changing('history', (data) => ({ ...data, _entities: [null] })))
    expect(await ask(missing, '{ video(id: "1") { id viewerProgress { position } } }')).toEqual({
      data: { video: { id: '1', viewerProgress: null } },
    })
  })

  test('a non-null field of a missing entity gets an error, and its null propagates', async () => {
    const missing = openGraph(
      changing('thumbup', (data) => ({
        ...data,
        _entities: (data['_entities'] as unknown[]).map((entity, index) => (index === 1 ? null : entity)),
      })),
    )
    expect(await ask(missing, '{ looseFeed { id likeCount } }', undefined, makeContext(gone))).toEqual({
      data: { looseFeed: [{ id: '1', likeCount: 7 }, null, null, { id: '3', likeCount: 21 }] },
      errors: [
        {
          message: 'Cannot return null for non-nullable field Video.likeCount.',
          path: ['looseFeed', 2, 'likeCount'],
          extensions: { code: 'SUBGRAPH_ERROR' },
        },
      ],
    })
  })

  test('an entity that its reference resolver does not find is null', async () => {
    const context = makeContext({
      'Video.viewerProgress': () => ({ position: 1, finished: true, subject: { __typename: 'Video', id: 'gone' } }),
    })
    expect(await ask(engine, '{ video(id: "1") { viewerProgress { subject { id subtitle } } } }', undefined, context)).toEqual({
      data: { video: { viewerProgress: { subject: { id: 'gone', subtitle: null } } } },
    })
  })
})

describe('a subgraph that returns values of wrong types', () => {
  const answers: [string, unknown, unknown][] = [
    ['a text for an Int', { topScore: 'many' }, { topScore: null }],
    ['an object for an Int', { topScore: { a: 1 } }, { topScore: null }],
    ['a list for an Int', { topScore: [1] }, { topScore: null }],
    ['a fraction for an Int', { topScore: 1.5 }, { topScore: null }],
    ['an object with names of methods for an Int', { topScore: { toString: 1, valueOf: 1 } }, { topScore: null }],
    ['an endlessly nested list for an Int', { topScore: endless() }, { topScore: null }],
  ]
  for (const [name, data, expected] of answers) {
    test(`${name} is null with an error`, async () => {
      const { data: got, errors } = await ask(openGraph(changing('thumbup', () => data)), '{ topScore }')
      expect(got).toEqual(expected)
      expect(errors?.[0]?.path).toEqual(['topScore'])
    })
  }

  test('a text, a number or a list in place of an object breaks that place only', async () => {
    for (const wrong of ['text', 7, [], true]) {
      const wild = openGraph(changing('catalog', () => ({ looseFeed: [{ id: '1', tags: ['a'] }, wrong], numbers: [1] })))
      const { data, errors } = await ask(wild, '{ looseFeed { id tags } numbers }')
      expect(data).toEqual({ looseFeed: [{ id: '1', tags: ['a'] }, null], numbers: [1] })
      expect(errors?.map(({ path }) => path)).toEqual([['looseFeed', 1]])
    }
  })

  test('an answer without a list of entities fails the fetch', async () => {
    for (const wrong of [{ _entities: 'none' }, { _entities: [] }, {}]) {
      const { data, errors } = await ask(
        openGraph(changing('history', () => wrong)),
        '{ feed(first: 1) { id viewerProgress { position } } }',
      )
      expect(data).toEqual({ feed: [{ id: '1', viewerProgress: null }] })
      expect(errors).toHaveLength(1)
    }
  })

  test('a number as an ID becomes a text', async () => {
    expect(await ask(openGraph(changing('catalog', () => ({ looseFeed: [{ id: 12 }] }))), '{ looseFeed { id } }')).toEqual({
      data: { looseFeed: [{ id: '12' }] },
    })
  })

  test('an impossible type, or a missing one that is needed, is null with an error', async () => {
    for (const __typename of ['Owner', 'Nonsense', undefined]) {
      const wild = openGraph(
        changing('catalog', (data) => Object.fromEntries(Object.keys(data).map((key) => [key, { __typename, id: '1' }]))),
      )
      const { data, errors } = await ask(wild, '{ node(id: "1") { __typename id } }')
      expect(data).toEqual({ node: null })
      expect(errors).toHaveLength(1)
    }
  })

  test('an inaccessible enum value is null, and the error does not name it', async () => {
    const { data, errors } = await ask(engine, '{ kind }', undefined, makeContext({ 'Query.kind': () => 'HIDDEN' }))
    expect(data).toEqual({ kind: null })
    expect(JSON.stringify(errors)).not.toContain('HIDDEN')
    expect(errors?.[0]?.path).toEqual(['kind'])
  })
})

describe('a list in place of an object', () => {
  const listed = (value: unknown) => (Array.isArray(value) ? value : [value])
  test('a list in place of a root object is an error, and data is null if the field is non-null', async () => {
    for (const owner of [[], [{ __typename: 'Owner', id: 'o1', best: null }]]) {
      const { data, errors } = await ask(openGraph(changing('catalog', () => ({ owner }))), '{ owner { best { id } } }')
      expect(data).toBeNull()
      expect(errors).toMatchObject([{ message: 'Expected an object for field Query.owner.', path: ['owner'] }])
    }
  })

  test('a list in place of an object in an entity fetch is an error', async () => {
    const history = changing('history', ({ _entities }) => ({
      _entities: (_entities as Record<string, unknown>[]).map((entity) => ({
        ...entity,
        viewerProgress: listed(entity['viewerProgress']),
      })),
    }))
    const { data, errors } = await ask(openGraph(history), '{ feed(first: 1) { id viewerProgress { position } } }')
    expect(data).toEqual({ feed: [{ id: '1', viewerProgress: null }] })
    expect(errors).toMatchObject([{ path: ['feed', 0, 'viewerProgress'] }])
  })

  test('a list in place of an object of an abstract type is an error', async () => {
    const { data, errors } = await ask(
      openGraph(changing('catalog', (data) => Object.fromEntries(Object.keys(data).map((key) => [key, []])))),
      '{ node(id: "1") { id } }',
    )
    expect({ data, errors }).toMatchObject({ data: { node: null }, errors: [{ path: ['node'] }] })
  })
})

describe('an object of an abstract type without a type name', () => {
  const nameless = openGraph(
    changing(
      'catalog',
      (data) => JSON.parse(JSON.stringify(data, (key, value: unknown) => (key === '__typename' ? undefined : value))) as object,
    ),
  )
  test('an object without a type name is an error if the selections differ by type', async () => {
    expect(await ask(nameless, '{ node(id: "1") { ... on Video { subtitle } } }')).toMatchObject({
      data: { node: null },
      errors: [{ message: 'Expected an object of a type of Node for field Query.node.', path: ['node'] }],
    })
    const { data, errors } = await ask(nameless, '{ any { ... on Article { words } } }')
    expect(data).toEqual({ any: [null, null, null, null] })
    expect(errors?.map(({ path }) => path)).toEqual([
      ['any', 0],
      ['any', 1],
      ['any', 3],
    ])
  })

  test('an object without a type name is answered if the selection is the same for all types', async () => {
    expect(await ask(nameless, '{ node(id: "1") { id ... on Node { id } } }')).toEqual({ data: { node: { id: '1' } } })
  })
})
