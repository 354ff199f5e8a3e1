/**
 * The rules that the public schema keeps from version 1 on; docs/decisions/0075-public-schema.md has the reasons. They run over the API of
 * the composed graph and over each subgraph.
 */
import {
  DEFAULT_DEPRECATION_REASON,
  getNamedType,
  isEnumType,
  isIntrospectionType,
  isListType,
  isNonNullType,
  isObjectType,
  isScalarType,
  isSpecifiedScalarType,
} from 'graphql'
import type { GraphQLArgument, GraphQLField, GraphQLInputField, GraphQLNamedType, GraphQLSchema } from 'graphql'

/** A schema coordinate and what to change. */
type Violation = readonly [place: string, sentence: string]
type Field = GraphQLField<unknown, unknown> | GraphQLInputField
type Rule = (type: GraphQLNamedType, schema: GraphQLSchema, entities: ReadonlySet<string>) => readonly Violation[]

/** One line per violation. `entities`: the types with a key in some subgraph. */
export function violationsOf(schema: GraphQLSchema, entities: ReadonlySet<string>): string[] {
  const types = Object.values(schema.getTypeMap()).filter((type) => !isIntrospectionType(type) && !isSpecifiedScalarType(type))
  const violations = types
    .filter(({ name }) => !MACHINERY.test(name))
    .flatMap((type) => RULES.flatMap((rule) => rule(type, schema, entities)))
  return [...new Set(violations.map(([place, sentence]) => `${place}: ${sentence}`))].sort()
}

/** Types that the API does not have. */
const MACHINERY = /^(CacheControlScope|_.*|.*__.*)$/
const ROOTS = new Set(['Query', 'Mutation', 'Subscription'])
/** `oid`, `videoId`, `user_id`. Lists such as `deletedIds` are no identity of an object. */
const OTHER_ID = /^[a-z]id$|.Id$|.ID$|_id$/
const PAGE_INFO = { hasNextPage: 'Boolean!', hasPreviousPage: 'Boolean!', startCursor: 'String', endCursor: 'String' }

const RULES: readonly Rule[] = [
  function described(type) {
    const missing = fieldsOf(type).filter(({ description }) => !isText(description))
    const values = isEnumType(type) ? type.getValues().filter(({ description }) => !isText(description)) : []
    return [
      ...(isText(type.description) || ROOTS.has(type.name) ? [] : [[type.name, 'describe the type'] as const]),
      ...missing.map((field) => [at(type, field), 'describe the field'] as const),
      ...fieldsOf(type).flatMap((field) =>
        argumentsOf(field)
          .filter(({ description }) => !isText(description))
          .map(({ name }) => [`${at(type, field)}(${name}:)`, 'describe the argument'] as const),
      ),
      ...values.map(({ name }) => [`${type.name}.${name}`, 'describe the value'] as const),
    ]
  },
  function deprecatedWithReason(type) {
    const values = isEnumType(type) ? type.getValues() : []
    const all = [...fieldsOf(type), ...fieldsOf(type).flatMap(argumentsOf), ...values]
    const bare = all.filter(({ deprecationReason }) => deprecationReason === DEFAULT_DEPRECATION_REASON || deprecationReason === '')
    return bare.map(({ name }) => [`${type.name}.${name}`, 'say in the reason of @deprecated what to use instead'] as const)
  },
  function oneWordForIds(type) {
    const names = fieldsOf(type).flatMap((field) => [field.name, ...argumentsOf(field).map(({ name }) => name)])
    return names.filter((name) => OTHER_ID.test(name)).map((name) => [`${type.name}.${name}`, 'call it id: ids have one name'] as const)
  },
  function uniqueIds(type, _schema, entities) {
    const id = isObjectType(type) ? type.getFields()['id'] : undefined
    if (id === undefined || entities.has(type.name) || /\bunique\b|^Identifies\b/i.test(id.description ?? '')) return []
    return [[at(type, id), 'client caches identify objects by type and id: say in the description that it is unique, or remove it']]
  },
  function specifiedScalars(type) {
    return isScalarType(type) && !isText(type.specifiedByURL) ? [[type.name, 'give the scalar @specifiedBy']] : []
  },
  function growingEnums(type) {
    if (!isEnumType(type) || /New values may be added/.test(type.description ?? '')) return []
    return [[type.name, 'say in the description that "New values may be added", and how to treat an unknown one']]
  },
  function nullableRoots(type) {
    const strict = ROOTS.has(type.name) ? fieldsOf(type).filter((field) => isNonNullType(field.type)) : []
    return strict.map((field) => [at(type, field), 'make it nullable: its failure would remove the data of other root fields'])
  },
  function oneInput(type) {
    if (type.name !== 'Mutation') return []
    return fieldsOf(type).flatMap((field): Violation[] => {
      const name = `${field.name[0]?.toUpperCase()}${field.name.slice(1)}`
      const args = argumentsOf(field).map((argument) => `${argument.name}: ${String(argument.type)}`)
      const takes = args.join(', ') === `input: ${name}Input!`
      return [
        ...(takes ? [] : [[at(type, field), `take one argument, input: ${name}Input!`] as const]),
        ...(String(field.type) === `${name}Payload` ? [] : [[at(type, field), `return ${name}Payload`] as const]),
      ]
    })
  },
  function userErrors(type) {
    if (type.name === 'UserError') {
      const { code, message, path } = isObjectType(type) ? type.getFields() : {}
      const isWhole = isEnumType(getNamedType(code?.type)) && String(message?.type) === 'String!' && String(path?.type) === '[String!]!'
      return isWhole ? [] : [[type.name, 'have code (an enum), message: String! and path: [String!]!']]
    }
    if (!type.name.endsWith('Payload') || !isObjectType(type)) return []
    const { userErrors } = type.getFields()
    return String(userErrors?.type) === '[UserError!]!' ? [] : [[type.name, 'have userErrors: [UserError!]!']]
  },
  function relayConnections(type, schema) {
    if (type.name === 'PageInfo') return shapeOf(type, PAGE_INFO)
    if (type.name.endsWith('Edge')) {
      const node = fieldNamed(type, 'node')
      const isObject =
        node !== undefined && !isListType(isNonNullType(node.type) ? node.type.ofType : node.type) && !isScalarType(getNamedType(node.type))
      return [...shapeOf(type, { cursor: 'String!' }), ...(isObject ? [] : [[type.name, 'have one object as node'] as const])]
    }
    if (type.name.endsWith('Connection')) {
      const edge = type.name.replace(/Connection$/, 'Edge')
      return shapeOf(type, { edges: `[${edge}!]!`, pageInfo: 'PageInfo!' })
    }
    return fieldsOf(type).flatMap((field): Violation[] => {
      if (!getNamedType(field.type).name.endsWith('Connection')) return []
      const types = new Map(argumentsOf(field).map((argument) => [argument.name, String(argument.type).replace('!', '')]))
      const pages = types.get('first') === 'Int' && types.get('after') === 'String'
      return pages && schema.getType('PageInfo') !== undefined
        ? []
        : [[at(type, field), 'take first: Int and after: String, and return PageInfo']]
    })
  },
]

function shapeOf(type: GraphQLNamedType, wanted: Readonly<Record<string, string>>): Violation[] {
  return Object.entries(wanted).flatMap(([name, text]) =>
    String(fieldNamed(type, name)?.type) === text ? [] : [[type.name, `have ${name}: ${text}`] as const],
  )
}

function fieldsOf(type: GraphQLNamedType): Field[] {
  return 'getFields' in type ? Object.values<Field>(type.getFields()) : []
}

function argumentsOf(field: Field): readonly GraphQLArgument[] {
  return 'args' in field ? field.args : []
}

function fieldNamed(type: GraphQLNamedType, name: string): Field | undefined {
  return fieldsOf(type).find((field) => field.name === name)
}

function at(type: GraphQLNamedType, { name }: Field): string {
  return `${type.name}.${name}`
}

function isText(text: string | null | undefined): boolean {
  return typeof text === 'string' && text.trim() !== ''
}
