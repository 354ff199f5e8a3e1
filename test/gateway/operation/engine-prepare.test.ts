import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'
import { GraphQLError } from 'graphql'
import { makeEngine } from '../../../gateway/operation/engine.ts'
import { makeLru } from '../../../gateway/operation/lru.ts'
import { SUPERGRAPH, ask, makeContext, openGraph } from '../engine-graph.ts'
import type { Transport } from '../../../gateway/transports/transport.ts'

const engine = openGraph()

function codeOf(query: string, operationName?: string): unknown {
  const prepared = engine.prepare(query, operationName)
  return 'errors' in prepared ? prepared.errors[0]?.extensions['code'] : undefined
}

describe('prepare', () => {
  test('each kind of mistake has its code', () => {
    expect(codeOf('{ feed {')).toBe('GRAPHQL_PARSE_FAILED')
    expect(codeOf('')).toBe('GRAPHQL_PARSE_FAILED')
    expect(codeOf('{ nothing }')).toBe('GRAPHQL_VALIDATION_FAILED')
    expect(codeOf('{ kind(as: HIDDEN) }')).toBe('GRAPHQL_VALIDATION_FAILED')
    expect(codeOf('query ($__proto__: Boolean!) { kind @include(if: $__proto__) }')).toBe('GRAPHQL_VALIDATION_FAILED')
    expect(codeOf('fragment F on Video { id }')).toBe('OPERATION_RESOLUTION_FAILURE')
    expect(codeOf('query A { numbers } query B { kind }')).toBe('OPERATION_RESOLUTION_FAILURE')
    expect(codeOf('query A { numbers } query B { kind }', 'C')).toBe('OPERATION_RESOLUTION_FAILURE')
    expect(codeOf(`{ ${'numbers '.repeat(1_001)} }`)).toBe('OPERATION_TOO_LARGE')
  })

  test('an unknown operationName is refused with the names of the document', () => {
    const message = (query: string) => {
      const prepared = engine.prepare(query, 'Nope')
      return 'errors' in prepared ? prepared.errors[0]?.message : undefined
    }
    expect(message('query A { numbers } query B { kind }')).toBe('The document has no operation named "Nope": name one of A, B.')
    expect(message('{ numbers }')).toBe('The document has no operation named "Nope", but one without a name: leave operationName out.')
  })

  test('the named operation of several is chosen', async () => {
    const text = 'query A { numbers } mutation B { reset(n: 1) } query C { ...F } fragment F on Query { kind }'
    for (const [name, kind, data] of [
      ['A', 'query', { numbers: [1, 2, 3] }],
      ['B', 'mutation', { reset: 1 }],
      ['C', 'query', { kind: 'OPEN' }],
    ] as const) {
      const prepared = engine.prepare(text, name)
      if ('errors' in prepared) throw new Error(String(prepared.errors))
      expect([prepared.kind, prepared.name]).toEqual([kind, name])
      expect(JSON.parse(JSON.stringify(await prepared.execute(undefined, makeContext())))).toEqual({ data })
    }
  })

  test('an operation is judged once, before validation, and can be refused', () => {
    const judged: (string | undefined)[] = []
    const judging = openGraph(undefined, {
      judge: (document, name) => {
        judged.push(name)
        return document.definitions.length > 1 ? [new GraphQLError('too many', { extensions: { code: 'OPERATION_TOO_LARGE' } })] : []
      },
    })
    expect(judging.prepare('{ nothing }')).toHaveProperty('errors')
    expect(judging.prepare('{ nothing } { numbers }', 'B')).toHaveProperty('errors')
    expect(judged.splice(0)).toEqual([undefined])
    expect(judging.prepare('query A { numbers }', 'A')).not.toHaveProperty('errors')
    expect(judging.prepare('query A { numbers }', 'A')).not.toHaveProperty('errors')
    expect(judging.prepare('query A { numbers } query B { kind }', 'A')).toMatchObject({ errors: [{ message: 'too many' }] })
    expect(judging.prepare('query A { nothing } query B { kind }', 'A')).toMatchObject({ errors: [{ message: 'too many' }] })
    expect(judged).toEqual(['A', 'A', 'A'])
  })

  test('an operation is prepared once as long as it is kept', () => {
    let compiled = 0
    const counting = openGraph((_, transport): Transport => {
      return {
        ...transport,
        compile(operation) {
          compiled += 1
          return transport.compile(operation)
        },
      }
    })
    const first = counting.prepare('{ numbers }')
    expect(counting.prepare('{ numbers }')).toBe(first)
    expect(compiled).toBe(1)
    counting.forget()
    expect(counting.prepare('{ numbers }')).not.toBe(first)
    expect(compiled).toBe(2)
  })

  test('the same text under two operation names is two operations', () => {
    const text = 'query A { numbers } query B { kind }'
    expect(engine.prepare(text, 'A')).not.toBe(engine.prepare(text, 'B'))
    expect(engine.prepare(text, 'A')).toBe(engine.prepare(text, 'A'))
  })
})

describe('an operation that cannot be prepared', () => {
  test('an operation that the planner cannot plan is refused with an error, not an exception', () => {
    const prepared = engine.prepare('{ feed { viewerProgress { subject { cost } } } }')
    expect(prepared).toMatchObject({
      errors: [{ message: 'The operation is valid, but the planner found no way to answer it.', extensions: { code: 'INTERNAL' } }],
    })
  })

  test('the error of the compiler is the cause, and clients do not see it', () => {
    const broken = openGraph((_, transport) => ({
      ...transport,
      compile() {
        throw new Error('no socket at 10.0.0.7')
      },
    }))
    const prepared = broken.prepare('{ numbers }')
    if (!('errors' in prepared)) throw new Error('it was prepared')
    expect(JSON.stringify(prepared)).not.toContain('10.0.0.7')
    expect(prepared.errors).toMatchObject([{ extensions: { code: 'INTERNAL' }, originalError: { message: 'no socket at 10.0.0.7' } }])
  })

  test('an alias that repeats its name does not end the process', async () => {
    // In a separate process, because a failure ends the process.
    const module = (path: string): string => JSON.stringify(new URL(path, import.meta.url).href)
    const script = `
      const { SUPERGRAPH } = await import(${module('../engine-graph.ts')})
      const { makeEngine } = await import(${module('../../../gateway/operation/engine.ts')})
      const transport = { remote: false, compile: () => ({}) }
      const subgraphs = ['catalog', 'history', 'thumbup', 'plays'].map((name) => ({ name, transport }))
      const prepared = makeEngine(SUPERGRAPH, subgraphs, { tokensMax: 100 }).prepare('{ topMedia { id: id ... on Film { id: id } } }')
      console.log('errors' in prepared ? 'refused' : 'prepared')`
    const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', script])
    expect(stdout.trim()).toBe('prepared')
  })

  test('a supergraph with a subgraph that is not given is refused', () => {
    expect(() => makeEngine(SUPERGRAPH, [], { tokensMax: 100 })).toThrow(/subgraph "catalog"/)
    expect(() => makeEngine('nonsense', [], { tokensMax: 100 })).toThrow(/supergraph/)
  })
})

describe('the bounded map', () => {
  test('the least recently used key is dropped', () => {
    const lru = makeLru<number>(2)
    lru.set('a', 1)
    lru.set('b', 2)
    expect(lru.get('a')).toBe(1)
    lru.set('c', 3)
    expect([lru.get('a'), lru.get('b'), lru.get('c'), lru.size]).toEqual([1, undefined, 3, 2])
  })

  test('setting a key again does not drop another', () => {
    const lru = makeLru<number>(2)
    lru.set('a', 1)
    lru.set('b', 2)
    lru.set('a', 3)
    expect([lru.get('a'), lru.get('b')]).toEqual([3, 2])
  })

  test('a hit on the newest key stays newest after others were evicted', () => {
    const lru = makeLru<number>(2)
    lru.set('a', 1)
    lru.set('b', 2)
    lru.get('b')
    lru.get('a')
    lru.set('c', 3)
    expect([lru.get('a'), lru.get('b')]).toEqual([1, undefined])
  })
})

test('concurrent requests of one operation share nothing', async () => {
  const query = 'query ($n: Int!, $s: Int!) { feed(first: $n) { id likeCount(since: $s) score viewerProgress { position } } }'
  const requests = Array.from({ length: 40 }, (_, index) => ({ n: (index % 5) + 1, s: index }))
  const alone = []
  for (const request of requests) alone.push(await ask(engine, query, request))
  const together = await Promise.all(
    requests.map((request, index) =>
      ask(
        engine,
        query,
        request,
        makeContext(index % 7 === 0 ? { 'Video.viewerProgress': () => Promise.reject(new Error(`failed ${index}`)) } : {}),
      ),
    ),
  )
  for (const [index, answer] of together.entries()) {
    if (index % 7 !== 0) expect(answer).toEqual(alone[index])
    else expect(answer.errors?.map(({ message }) => message)).toEqual(Array.from({ length: (index % 5) + 1 }, () => `failed ${index}`))
  }
})
