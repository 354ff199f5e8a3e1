import fc from 'fast-check'
import { buildSchema, getVariableValues, isInputObjectType, isListType, isNonNullType, parse, typeFromAST } from 'graphql'
import type { GraphQLInputField, GraphQLInputType, GraphQLScalarType, OperationDefinitionNode } from 'graphql'
import { describe, expect, test } from 'vitest'
import { compileCoercion } from '../../../gateway/operation/prepared-operation.ts'
import { compilePlainVariables } from '../../../gateway/operation/plain-variables.ts'

const schema = buildSchema(`
  scalar Any scalar Small scalar Trimmed
  enum Mark { LIKE DISLIKE }
  input Leaves { string: String id: ID! int: Int float: Float boolean: Boolean any: Any small: Small trimmed: Trimmed mark: Mark! }
  input Lists { ids: [ID!]! deep: [[Int]!] leaves: [Leaves!] }
  input Tree { name: String! children: [Tree!] twin: Tree }
  input Defaults { first: Int! = 20 mark: Mark = LIKE name: String }
  input Optional { name: String }
  input One @oneOf { name: String leaves: Leaves }
  input Inherited { constructor: Any name: String }
  type Query { a: Int }
`)
const SMALL_MAX = 99
scalar('Small').parseValue = (value) => {
  if (Number(value) > SMALL_MAX) throw new Error('too large')
  return value
}
scalar('Trimmed').parseValue = (value) => String(value).trim()

function scalar(name: string): GraphQLScalarType {
  return schema.getType(name) as GraphQLScalarType
}

const LEAVES: Record<string, fc.Arbitrary<unknown>> = {
  String: fc.string(),
  ID: fc.string(),
  Int: fc.integer(),
  Float: fc.double({ noNaN: true, noDefaultInfinity: true }),
  Boolean: fc.boolean(),
  Any: fc.jsonValue().filter((value) => value !== null),
  Small: fc.integer({ max: SMALL_MAX }),
  Trimmed: fc.string().map((text) => text.trim()),
  Mark: fc.constantFrom('LIKE', 'DISLIKE'),
}
const ODD = fc.constantFrom<unknown[]>(
  null,
  '',
  ' a ',
  '7',
  7,
  1.5,
  2 ** 31,
  2 ** 52,
  true,
  [],
  [null],
  {},
  { name: 'x' },
  { constructor: 1 },
)
const LEVELS = 3

/** A value that needs no coercion. With `odd` one place in twelve may have a value that does, or that is wrong. */
function valueOf(type: GraphQLInputType, odd: boolean, levels = LEVELS): fc.Arbitrary<unknown> {
  const proper = properValueOf(type, odd, levels)
  return odd ? fc.oneof({ weight: 11, arbitrary: proper }, { weight: 1, arbitrary: ODD }) : proper
}

function properValueOf(type: GraphQLInputType, odd: boolean, levels: number): fc.Arbitrary<unknown> {
  if (isNonNullType(type)) return presentValueOf(type.ofType, odd, levels)
  return levels === 0 ? fc.constant(null) : fc.option(presentValueOf(type, odd, levels), { freq: 4 })
}

function presentValueOf(type: GraphQLInputType, odd: boolean, levels: number): fc.Arbitrary<unknown> {
  if (isListType(type)) return fc.array(valueOf(type.ofType, odd, Math.max(levels - 1, 0)), { maxLength: levels })
  if (!isInputObjectType(type)) return LEAVES[String(type)] as fc.Arbitrary<unknown>
  const fields = Object.values(type.getFields())
  const values = Object.fromEntries(fields.map((field) => [field.name, valueOf(field.type, odd, Math.max(levels - 1, 0))]))
  const record = fc.record(values, { requiredKeys: fields.filter((field) => !odd && isNeeded(field)).map(({ name }) => name) })
  if (!odd) return record
  const more = fc.oneof({ weight: 11, arbitrary: fc.constant({}) }, { weight: 1, arbitrary: fc.constant({ unknown: 1 }) })
  return fc.tuple(record, more).map((parts) => Object.assign({}, ...parts))
}

function isNeeded({ type, defaultValue }: GraphQLInputField): boolean {
  return isNonNullType(type) || defaultValue !== undefined
}

function compiled(variables: string) {
  const operation = parse(`query(${variables}) { a }`).definitions[0] as OperationDefinitionNode
  const { variableDefinitions: definitions = [] } = operation
  const typeOf = (name: string) => {
    const node = definitions.find(({ variable }) => variable.name.value === name)?.type
    return typeFromAST(schema, node as never) as GraphQLInputType
  }
  return {
    plain: compilePlainVariables(schema, definitions),
    coerce: compileCoercion(schema, { operation, mayHint: true }),
    byGraphql: (given: Record<string, unknown>) => getVariableValues(schema, definitions, given),
    typeOf,
  }
}

/** Coerced objects of graphql-js have no prototype. */
function inJson(value: unknown): unknown {
  return value === undefined ? undefined : JSON.parse(JSON.stringify(value))
}

const PLAIN = [
  '[Leaves!]!',
  'Leaves',
  'Lists!',
  'Tree',
  'Optional!',
  'Defaults!',
  'ID',
  '[ID!]!',
  '[[String]]',
  'Int',
  'Mark!',
  'Any!',
  'Small',
  'Trimmed!',
]

describe('variables without coercion', () => {
  test.each(PLAIN)('a value of %s passes with the value of graphql-js', (type) => {
    const { plain, byGraphql, typeOf } = compiled(`$v: ${type}, $absent: Int`)
    fc.assert(
      fc.property(valueOf(typeOf('v'), false), (v) => {
        const given = inJson({ v, more: 1 }) as Record<string, unknown>
        const values = plain(given)
        expect(values).toBeDefined()
        expect(inJson(values)).toEqual(inJson(byGraphql(given).coerced))
      }),
    )
  })

  test.each([...PLAIN, 'One', 'One!', '[Inherited]', 'Inherited!'])(
    'any value of %s has the values or the errors of graphql-js',
    (type) => {
      const { coerce, byGraphql, typeOf } = compiled(`$v: ${type}`)
      fc.assert(
        fc.property(valueOf(typeOf('v'), true), (v) => {
          const given = inJson({ v }) as Record<string, unknown>
          const ours = coerce(given)
          const { coerced, errors = [] } = byGraphql(given)
          if ('variables' in ours) expect(inJson(ours.variables)).toEqual(inJson(coerced))
          else expect(ours.errors.map(({ message }) => message)).toEqual(errors.map(({ message }) => message))
        }),
        { numRuns: 500 },
      )
    },
  )

  test.each([
    ['a number as an ID', '$ids: [ID!]!', { ids: ['1', 2] }],
    ['one value for a list', '$ids: [ID!]!', { ids: '1' }],
    ['null in a non-null place', '$ids: [ID!]!', { ids: [null] }],
    ['an absent variable that is required', '$b: String!', {}],
    ['an absent variable with a default', '$b: String = "x"', {}],
    ['a name that every object has', '$constructor: Any!', {}],
    ['a missing map of variables', '$b: String', undefined],
    ['an absent field that is required', '$v: Tree', { v: {} }],
    ['an absent field with a default', '$v: Defaults', { v: { first: 1 } }],
    ['a list for an object', '$v: Optional', { v: [] }],
    ['an unknown field', '$v: Tree', { v: { name: 'x', unknown: 1 } }],
    ['a field that every object has', '$v: Inherited', { v: { name: 'x' } }],
    ['two fields of one', '$v: One', { v: { name: 'x', leaves: null } }],
    ['a value that a scalar changes', '$v: Trimmed', { v: ' a ' }],
    ['a value that a scalar refuses', '$v: Small', { v: SMALL_MAX + 1 }],
    ['an unknown type', '$v: Nothing', { v: 1 }],
  ])('%s is left to graphql-js', (_, variables, given) => {
    expect(compiled(variables).plain(given)).toBeUndefined()
  })
})
