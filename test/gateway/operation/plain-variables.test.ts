import { buildSchema, getVariableValues, parse, type OperationDefinitionNode } from 'graphql'
import { describe, expect, test } from 'vitest'
import { compilePlainVariables } from '../../../gateway/operation/plain-variables.ts'

const schema = buildSchema(
  `scalar Time  enum Mark { LIKE NONE }  input Either @oneOf { a: ID b: ID }  input Tree { name: ID, below: [Tree!] }
   input Page { first: Int = 20 }  input Report { id: ID!, at: Time, position: Float!, mark: Mark, done: Boolean }
   input Batch { reports: [Report!]!, page: Page }
   type Query { a(s: String, i: ID, n: Int, p: Page, m: Mark, l: [ID!]!, b: Batch, e: Either, t: Tree): Int }`,
)

function compiled(variables: string) {
  const { variableDefinitions = [] } = parse(`query(${variables}) { a }`).definitions[0] as OperationDefinitionNode
  return { plain: compilePlainVariables(schema, variableDefinitions), definitions: variableDefinitions }
}

describe('variables without coercion', () => {
  test.each([
    ['$b: String!, $ids: [ID!]!', { b: 'video', ids: ['1', '2'], more: 1 }],
    ['$on: Boolean, $deep: [[String]]', { on: false, deep: [['a'], []] }],
    ['$n: Int, $f: Float, $m: Mark, $t: Time', { n: -(2 ** 31) + 1, f: 1e300, m: 'LIKE', t: 1.5 }],
    ['$p: Page', { p: { first: null } }],
    ['$b: Batch!', { b: { reports: [], page: { first: 1 } } }],
    [
      '$b: Batch!',
      {
        b: {
          reports: [
            { id: '1', position: 1.5, mark: 'NONE', at: 17, done: null },
            { position: 0, id: '2' },
          ],
        },
      },
    ],
  ])('%s have the values of graphql-js', (variables, given) => {
    const { plain, definitions } = compiled(variables)
    expect(plain?.(given)).toEqual(getVariableValues(schema, definitions, given).coerced)
  })

  test.each([
    ['a number as an ID', '$ids: [ID!]!', { ids: ['1', 2] }],
    ['one value for a list', '$ids: [ID!]!', { ids: '1' }],
    ['null in a nullable place', '$b: String', { b: null }],
    ['null in a non-null place', '$ids: [ID!]!', { ids: [null] }],
    ['an absent variable', '$b: String, $c: String', { b: 'x' }],
    ['a name that every object has', '$constructor: String', {}],
    ['a missing map of variables', '$b: String', undefined],
    ['an integer that is too large', '$n: Int', { n: 2 ** 31 }],
    ['a fraction as an integer', '$n: Int', { n: 1.5 }],
    ['an unknown value of an enum', '$m: Mark', { m: 'LOVE' }],
    ['an object as a value of a scalar', '$t: Time', { t: {} }],
    ['a missing field', '$b: Batch', { b: { reports: [{ id: '1' }] } }],
    ['an unknown field', '$b: Batch', { b: { reports: [{ id: '1', position: 1, oid: '1' }] } }],
    ['a field that every object has', '$b: Batch', { b: JSON.parse('{ "reports": [], "__proto__": 1 }') as unknown }],
    ['a number as the ID of an input', '$b: Batch', { b: { reports: [{ id: 1, position: 1 }] } }],
    ['null in a non-null field', '$b: Batch', { b: { reports: [{ id: '1', position: null }] } }],
    ['one object for a list of them', '$b: Batch', { b: { reports: { id: '1', position: 1 } } }],
    ['an absent field with a default', '$p: Page', { p: {} }],
  ])('%s is left to graphql-js', (_, variables, given) => {
    expect(compiled(variables).plain?.(given)).toBeUndefined()
  })

  test.each(['$b: String = "x"', '$n: Int = 1, $b: String', '$e: Either', '$t: Tree'])(
    'a definition with %s is left to graphql-js',
    (variables) => {
      expect(compiled(variables).plain).toBeUndefined()
    },
  )

  test('a scalar that parses its values is left to graphql-js', () => {
    const parsing = buildSchema('scalar Time type Query { a(t: Time): Int }')
    const { definitions } = compiled('$t: Time')
    expect(compilePlainVariables(parsing, definitions)).toBeDefined()
    Object.assign(parsing.getType('Time') as object, { parseValue: Number })
    expect(compilePlainVariables(parsing, definitions)).toBeUndefined()
  })
})
