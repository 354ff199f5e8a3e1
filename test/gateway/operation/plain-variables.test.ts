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

describe('variables that are given as what they are', () => {
  test.each([
    ['$b: String!, $ids: [ID!]!', { b: 'video', ids: ['1', '2'], more: 1 }],
    ['$on: Boolean, $deep: [[String]]', { on: false, deep: [['a'], []] }],
  ])('%s come out as graphql-js has them', (variables, given) => {
    const { plain, definitions } = compiled(variables)
    expect(plain?.(given)).toEqual(getVariableValues(schema, definitions, given).coerced)
  })

  test.each([
    ['a number as an ID', '$ids: [ID!]!', { ids: ['1', 2] }],
    ['one value for a list', '$ids: [ID!]!', { ids: '1' }],
    ['null where it may be', '$b: String', { b: null }],
    ['null where it may not be', '$ids: [ID!]!', { ids: [null] }],
    ['what is absent', '$b: String, $c: String', { b: 'x' }],
    ['a name that every object has', '$constructor: String', {}],
    ['nothing at all', '$b: String', undefined],
  ])('%s is left to graphql-js', (_, variables, given) => {
    expect(compiled(variables).plain?.(given)).toBeUndefined()
  })

  test.each(['$n: Int', '$p: Page', '$m: Mark', '$b: String = "x"', '$ids: [ID!]!, $n: Int'])('%s is none of its business', (variables) => {
    expect(compiled(variables).plain).toBeUndefined()
  })
})
