/**
 * A gateway sends representations to `_entities` as the scalar `_Any`, so GraphQL does not validate them before the resolvers run. This
 * check runs first: each representation must be an object, name an entity type, and have exact numbers. The entity's reference
 * resolver checks that its key is an id.
 *
 * Representations have no limit of their own: their number counts through their cost (operation-cost.ts).
 */
import { Kind, getNamedType, isInterfaceType, isUnionType } from 'graphql'
import type { GraphQLError, GraphQLSchema, SelectionSetNode } from 'graphql'
import { codedError, type ReadOperation } from '../operation/operations.ts'
import { reader } from './operation-cost.ts'

type Variables = Readonly<Record<string, unknown>>

/** Undefined if all are valid; otherwise the first mistake, with the index of the representation. */
export type CheckRepresentations = (variables: Variables) => GraphQLError | undefined

/** Undefined for an operation without representations. */
export function compileRepresentations(schema: GraphQLSchema, { operation, fragments }: ReadOperation): CheckRepresentations | undefined {
  const types = entityTypes(schema)
  const reads: ((variables: Variables) => unknown)[] = []
  collect(operation.selectionSet, new Set())
  if (reads.length === 0 || types === undefined) return undefined
  return (variables) => {
    // One variable may go to many fields. It is checked once.
    for (const list of new Set(reads.map((read) => read(variables)))) {
      const mistake = Array.isArray(list) ? mistakeOf(list, types) : undefined
      if (mistake !== undefined) return mistake
    }
    return undefined
  }

  function collect(set: SelectionSetNode, spread: Set<string>): void {
    for (const selection of set.selections) {
      if (selection.kind === Kind.FIELD) {
        const argument = selection.name.value === '_entities' ? selection.arguments?.[0] : undefined
        if (argument === undefined) continue
        const read = reader(argument.value)
        reads.push(typeof read === 'function' ? read : () => read.value)
      } else if (selection.kind === Kind.INLINE_FRAGMENT) collect(selection.selectionSet, spread)
      else if (!spread.has(selection.name.value)) {
        spread.add(selection.name.value)
        const fragment = fragments.get(selection.name.value)
        if (fragment !== undefined) collect(fragment.selectionSet, spread)
      }
    }
  }
}

/** Representations may also name interfaces with keys. */
function entityTypes(schema: GraphQLSchema): ReadonlySet<unknown> | undefined {
  const field = schema.getQueryType()?.getFields()['_entities']
  const union = field === undefined ? undefined : getNamedType(field.type)
  if (!isUnionType(union)) return undefined
  const interfaces = Object.values(schema.getTypeMap()).filter(isInterfaceType)
  return new Set([...schema.getPossibleTypes(union), ...interfaces].map(({ name }) => name))
}

const NAME_LENGTH_MAX = 64

function mistakeOf(representations: readonly unknown[], types: ReadonlySet<unknown>): GraphQLError | undefined {
  for (const [index, each] of representations.entries()) {
    const refuse = (sentence: string) => codedError('REPRESENTATION_INVALID', `representation ${index} ${sentence}`)
    if (typeof each !== 'object' || each === null || Array.isArray(each)) return refuse('is not an object: send {"__typename": …, "id": …}')
    const { __typename: type } = each as { __typename?: unknown }
    if (typeof type !== 'string') return refuse('has no "__typename": send the name of an entity type of this subgraph')
    if (!types.has(type))
      return refuse(`is of type "${type.slice(0, NAME_LENGTH_MAX)}", which is not an entity of this subgraph: compose the supergraph again`)
  }
  return undefined
}
