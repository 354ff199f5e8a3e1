import { GraphQLError, buildSchema, getIntrospectionQuery, parse, validate } from 'graphql'
import { describe, expect, it } from 'vitest'
import { makeJudge } from '../../../gateway/limits/judge.ts'

const schema = buildSchema('type Query { node: Node, a: Int, b: Int } type Node { node: Node, nodes: [Node], id: ID }')
const DEFAULTS = { operationDepthMax: 15, operationMutationsMax: 10, operationFieldsMax: 1_000 }

function judged(query: string, limits: Parameters<typeof makeJudge>[0] = DEFAULTS, operationName?: string): string[] {
  const document = parse(query)
  return makeJudge(limits)(document, operationName).map((error) => {
    expect(error).toBeInstanceOf(GraphQLError)
    expect(error.extensions['code']).toBe('OPERATION_TOO_LARGE')
    return error.message
  })
}

const nested = (levels: number) => `${'{ node '.repeat(levels - 1)}{ id }${' }'.repeat(levels - 1)}`

describe('depth', () => {
  it('at the limit passes, and one level more is refused with both figures', () => {
    expect(judged(nested(15))).toEqual([])
    expect(judged(nested(16))).toEqual(['the operation selects 16 levels: select at most 15'])
  })

  it('counts the levels inside fragments, and inline fragments are no level', () => {
    expect(
      judged('query Q { ...A } fragment A on Query { node { ...B } } fragment B on Node { node { id } }', {
        ...DEFAULTS,
        operationDepthMax: 2,
      }),
    ).toEqual(['operation Q selects 3 levels: select at most 2'])
    expect(judged('{ ... on Query { node { ... on Node { id } } } }', { ...DEFAULTS, operationDepthMax: 2 })).toEqual([])
  })
})

describe('fields', () => {
  it('count once per spread of their fragment', () => {
    const query = '{ node { ...F nodes { ...F } } } fragment F on Node { id node { id } }'
    expect(judged(query, { ...DEFAULTS, operationFieldsMax: 8 })).toEqual([])
    expect(judged(query, { ...DEFAULTS, operationFieldsMax: 7 })).toHaveLength(1)
  })

  it('behind @skip and @include count, and repeated fields count again', () => {
    expect(
      judged('query Q($no: Boolean!) { a @skip(if: $no) b @include(if: $no) a }', { ...DEFAULTS, operationFieldsMax: 2 }),
    ).toHaveLength(1)
  })

  it('of other operations of the document do not count', () => {
    const query = `query Small { a } query Large ${nested(20)}`
    expect(judged(query, DEFAULTS, 'Small')).toEqual([])
    expect(judged(query, DEFAULTS, 'Large')).toHaveLength(1)
  })

  it('of fragments that double with every link are refused without walking them', () => {
    const links = 2_000
    const bomb = Array.from(
      { length: links },
      (_, link) => `fragment F${link} on Node { ${link + 1 < links ? `...F${link + 1} ...F${link + 1}` : 'id'} }`,
    )
    const startedAt = performance.now()
    expect(judged(`{ node { ...F0 } } ${bomb.join(' ')}`)).toContainEqual(expect.stringContaining('infinitely many fields'))
    expect(performance.now() - startedAt).toBeLessThan(1_000)
  })

  it('of a fragment that contains itself are refused, and the judge ends', () => {
    expect(judged('{ node { ...A } } fragment A on Node { node { ...B } } fragment B on Node { node { ...A } }')).toEqual([
      'the operation spreads a fragment within itself: remove the spread that closes the cycle',
    ])
  })
})

describe('aliases', () => {
  const aliased = (count: number) => `{ ${Array.from({ length: count }, (_, i) => `a${i}: a`).join(' ')} }`

  it('pass at the limit, and one more is refused', () => {
    expect(judged(aliased(100))).toEqual([])
    expect(judged(aliased(101))).toEqual(['the operation has 101 aliases: use at most 100, or pass many ids to one field'])
  })

  it('count once per spread of their fragment, and not if they equal the name', () => {
    const query = '{ node { ...F nodes { ...F } } } fragment F on Node { other: id id: id }'
    expect(judged(query, { ...DEFAULTS, operationAliasesMax: 2 })).toEqual([])
    expect(judged(query, { ...DEFAULTS, operationAliasesMax: 1 })).toHaveLength(1)
  })
})

describe('introspection', () => {
  it('of GraphiQL passes with the default limits and with tight ones', () => {
    const query = getIntrospectionQuery({
      specifiedByUrl: true,
      directiveIsRepeatable: true,
      schemaDescription: true,
      inputValueDeprecation: true,
      oneOf: true,
    })
    expect(validate(schema, parse(query))).toEqual([])
    expect(judged(query)).toEqual([])
    expect(judged(query, { operationDepthMax: 1, operationMutationsMax: 10, operationFieldsMax: 10 })).toEqual([])
  })

  it('has its own limits', () => {
    const deep = `{ __type(name: "Query") ${'{ ofType '.repeat(25)}{ name }${' }'.repeat(25)} }`
    expect(judged(deep)).toEqual([expect.stringContaining('introspects too much')])
  })

  it('does not hide the fields beside it', () => {
    expect(judged(`{ __schema { queryType { name } } ${nested(16).slice(1)}`)).toHaveLength(1)
  })
})

describe('mutations', () => {
  it('are counted at the root, with aliases and spread fragments, because each may carry a batch', () => {
    const roots = (count: number) => Array.from({ length: count }, (_, index) => `m${index}: write`).join(' ')
    expect(judged(`mutation { ${roots(10)} }`)).toEqual([])
    expect(judged(`mutation { ${roots(11)} }`)).toEqual([expect.stringContaining('more than 10 mutations')])
    expect(judged(`mutation { ${roots(6)} ...More } fragment More on Mutation { ${roots(5)} }`)).toHaveLength(1)
    expect(judged(`query { ${'a b '.repeat(20)} }`)).toEqual([])
  })

  it('of fragments that spread each other endlessly are refused, and the judge ends', () => {
    expect(judged('mutation { ...A } fragment A on Mutation { ...B write } fragment B on Mutation { ...A write }').length).toBeGreaterThan(
      0,
    )
  })
})

describe('the judge protects parsers and validation: it refuses', () => {
  it('nesting by inline fragments and by spreads, which are no level', () => {
    const inline = (count: number) => `{ ${'... { '.repeat(count)} a ${'}'.repeat(count)} }`
    expect(judged(inline(39))).toEqual([])
    expect(judged(inline(40))).toEqual(['the operation nests 41 selections, fragments included: nest at most 40'])
    const chain = (count: number) =>
      `{ ...F0 } ${Array.from({ length: count }, (_, i) => `fragment F${i} on Query { ${i + 1 < count ? `...F${i + 1}` : 'a'} }`).join(' ')}`
    expect(judged(chain(39))).toEqual([])
    expect(judged(chain(40))).toHaveLength(1)
  })

  it('a literal of many levels', () => {
    const literal = (levels: number) => `{ a(x: ${'[{ y: '.repeat(levels / 2)}1${' }]'.repeat(levels / 2)}) }`
    expect(judged(literal(20))).toEqual([])
    expect(judged(literal(22))).toEqual([
      'the operation has a literal of 22 levels: write at most 20, or send the value in the variables of the request',
    ])
    const withDefault = (levels: number) => `query ($x: X, $y: Y = ${'['.repeat(levels)}${']'.repeat(levels)}) { a(x: $x, y: $y) }`
    expect(judged(withDefault(20))).toEqual([])
    expect(judged(withDefault(21))).toEqual([
      'the operation has a literal of 21 levels: write at most 20, or send the value in the variables of the request',
    ])
  })

  it('one key that is selected many times in one place, through fragments of any kind', () => {
    expect(judged(`{ ${'a '.repeat(100)} }`)).toEqual([])
    expect(judged(`{ ${'a '.repeat(101)} }`)).toEqual(['the operation selects "a" 101 times in one place: select it at most 100 times'])
    const spread = Array.from({ length: 60 }, (_, i) => `fragment F${i} on Query { a }`)
    const query = `{ ${spread.map((_, i) => `...F${i}`).join(' ')} ${'... { a } '.repeat(50)} } ${spread.join(' ')}`
    expect(judged(query)).toEqual([expect.stringContaining('selects "a" 110 times')])
    expect(
      judged(`{ node { ${'...F '.repeat(500)} } } fragment F on Node { __typename }`, { ...DEFAULTS, operationFieldsMax: 10_000 }),
    ).toEqual([])
  })
})

describe('variables of conditions', () => {
  const conditional = (count: number) => {
    const names = Array.from({ length: count }, (_, index) => `$v${index}`)
    const fields = names.map((name, index) => `${index % 2 === 0 ? 'a' : '...F'} @${index % 3 === 0 ? 'skip' : 'include'}(if: ${name})`)
    return `query Q(${names.map((name) => `${name}: Boolean!`).join(', ')}) { ${fields.join(' ')} ${fields.join(' ')} } fragment F on Query { b }`
  }

  it('pass up to eight, even if each occurs many times; more are refused, because every combination has a plan', () => {
    expect(judged(conditional(8))).toEqual([])
    expect(judged(conditional(9))).toEqual([
      'operation Q has 9 variables in @skip and @include: use at most 8, or split it into several operations',
    ])
  })
})
