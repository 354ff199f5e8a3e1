import { buildSchema, getVariableValues, parse, type OperationDefinitionNode } from 'graphql'
import { describe, expect, test } from 'vitest'
import { compilePlainVariables } from '../../../gateway/operation/plain-variables.ts'

const schema = buildSchema(
  'input Page { first: Int } enum Mark { LIKE } type Query { a(s: String, i: ID, n: Int, p: Page, m: Mark, l: [ID!]!): Int }',
)

function compiled(variables: string) {
  const { variableDefinitions = [] } = parse(`query(${variables}) { a }`).definitions[0] as OperationDefinitionNode
  return { plain: compilePlainVariables(schema, variableDefinitions), definitions: variableDefinitions }
}

describe('variables without coercion', () => {
  test.each([
    ['$b: String!, $ids: [ID!]!', { b: 'video', ids: ['1', '2'], more: 1 }],
    ['$on: Boolean, $deep: [[String]]', { on: false, deep: [['a'], []] }],
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
  ])('%s is left to graphql-js', (_, variables, given) => {
    expect(compiled(variables).plain?.(given)).toBeUndefined()
  })

  test.each(['$n: Int', '$p: Page', '$m: Mark', '$b: String = "x"', '$ids: [ID!]!, $n: Int'])(
    'a definition with %s is left to graphql-js',
    (variables) => {
      expect(compiled(variables).plain).toBeUndefined()
    },
  )
})
