import { buildSchema, getIntrospectionQuery, getOperationAST, parse, print, validate, visit, Kind, type GraphQLSchema } from 'graphql'
import { describe, expect, it } from 'vitest'
import { compileCost } from '../../../gateway/limits/operation-cost.ts'
import { fragmentsOf } from '../../../gateway/operation/plan-document.ts'

const POINTS_MAX = 5_000
const RULES = { listSizeAssumed: 5, weights: new Map(), listSizes: new Map() }
const OPTIONS = { specifiedByUrl: true, directiveIsRepeatable: true, schemaDescription: true, inputValueDeprecation: true, oneOf: true }
const STANDARD = getIntrospectionQuery({ ...OPTIONS, experimentalDirectiveDeprecation: true })

function costIn(schema: GraphQLSchema, query: string, variables?: Record<string, unknown>): number {
  const document = parse(query)
  expect(validate(schema, document)).toEqual([])
  const operation = getOperationAST(document)
  if (operation == null) throw new Error('no operation')
  return compileCost(schema, operation, fragmentsOf(document), RULES)(variables)
}

/** Each type has ten fields of other types. */
const graphOf = (types: number) =>
  buildSchema(
    Array.from({ length: types }, (_, at) => {
      const fields = Array.from({ length: 10 }, (_, field) => `f${field}(first: Int = 10): [T${(at * 7 + field) % types}!]!`)
      return `"The type ${at}." type T${at} { ${fields.join(' ')} }`
    }).join('\n') + ' type Query { first: T0 }',
  )

const small = graphOf(50)
const large = graphOf(3_000)

const withTypenames = (query: string) =>
  print(
    visit(parse(query), {
      SelectionSet: (set) => ({
        ...set,
        selections: [...set.selections, { kind: Kind.FIELD, name: { kind: Kind.NAME, value: '__typename' } }],
      }),
    }),
  )

describe('introspection', () => {
  it('costs a point per ten values of the answer, in addition to other fields', () => {
    const schema = buildSchema(`type Query { a: Int b: Int one: One } type One { id: ID } "${'x'.repeat(1_000)}" type Long { id: ID }`)
    // __type, the type, fields, three fields and their names.
    expect(costIn(schema, '{ __type(name: "Query") { fields { name } } }')).toBe(1)
    expect(costIn(schema, '{ one { id } __type(name: "Query") { fields { name } } }')).toBe(2)
    const more = '{ __type(name: "Query") { ...F } } fragment F on __Type { fields { name isDeprecated } kind }'
    expect(costIn(schema, `{ one { id } ${more.slice(1)}`)).toBe(1 + 2)
    expect(costIn(schema, '{ __type(name: "Nothing") { fields { name } } }')).toBe(1)
    expect(costIn(schema, '{ one { id } __type(name: "Long") { a: description b: description } }')).toBe(1 + 3)
  })

  it('of a type by a variable costs the values of that type', () => {
    const query = (name: string) => `query ($name: String! = "T0") { __type(name: ${name}) { fields { name args { name } } } }`
    const literal = costIn(small, query('"T1"').replace(/\(.*?= "T0"\) /, ''))
    expect(literal).toBeGreaterThan(2)
    for (const variables of [{}, { name: 'T1' }]) expect(costIn(small, query('$name'), variables)).toBe(literal)
    for (const name of ['Nothing', 'constructor', 7, null]) expect(costIn(small, query('$name'), { name })).toBe(1)
  })

  it('by the standard query passes on small and large graphs, also with __typename in each object', () => {
    for (const query of [STANDARD, withTypenames(STANDARD)]) {
      expect(costIn(small, query)).toBeLessThan(POINTS_MAX)
      expect(costIn(large, query)).toBe(POINTS_MAX)
    }
  })

  it('of more than twice the standard query is never allowed', () => {
    const typeOf = (at: number) => `a${at}: type { ofType { ofType { ofType { fields { name description args { name } } } } } }`
    const fieldsOfFields = `fields { ${Array.from({ length: 5 }, (_, at) => typeOf(at)).join(' ')} }`
    for (const schema of [small, large])
      for (const query of [
        `{ __schema { types { ${fieldsOfFields} } directives { args { type { ${fieldsOfFields} } } } } }`,
        `{ __schema { ${Array.from({ length: 99 }, (_, at) => `a${at}: types { fields { name } }`).join(' ')} } }`,
        `{ ${Array.from({ length: 100 }, (_, at) => `a${at}: __schema { types { fields { name } } }`).join(' ')} }`,
      ])
        expect(costIn(schema, query)).toBe(Number.MAX_SAFE_INTEGER)
  })

  it('does not run the resolvers of default values, which may throw', () => {
    const schema = buildSchema('scalar Any type Query { a(any: Any = { b: [1] }): Int }')
    expect(costIn(schema, '{ __type(name: "Query") { fields { args { defaultValue } } } }')).toBe(1)
  })
})
