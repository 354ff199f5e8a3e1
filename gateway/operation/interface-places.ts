/**
 * Bounds the time that planning takes. The native planner plans a field that returns an interface or a union for each possible type, and
 * its time grows with the square of these places: 270 places with fields of three subgraphs take 50 ms, 1,170 places a second. Planning is
 * one call, so no other request is answered meanwhile.
 */
import { Kind, getNamedType, isAbstractType, isCompositeType } from 'graphql'
import type { GraphQLCompositeType, GraphQLError, GraphQLSchema, SelectionSetNode } from 'graphql'
import { codedError, type ReadOperation } from './operations.ts'

/** Takes about 100 ms. A graph with 3 types of subjects reaches it with 133 fields that return subjects, more than an operation may alias. */
const PLACES_MAX = 400

/** OPERATION_TOO_LARGE, or undefined. The operation must be valid. */
export function refuseManyPlaces(
  schema: GraphQLSchema,
  { operation, fragments }: Pick<ReadOperation, 'operation' | 'fragments'>,
): GraphQLError | undefined {
  const known = new Map<string, number>()
  const root = schema.getRootType(operation.operation)
  const places = root == null ? 0 : placesIn(root, operation.selectionSet)
  if (places <= PLACES_MAX) return undefined
  const sentence = `the operation selects fields that return interfaces or unions in ${places} places, counted once per possible type`
  return codedError('OPERATION_TOO_LARGE', `${sentence}: select at most ${PLACES_MAX}, pass many ids to one field, or split it`)

  function placesIn(parent: GraphQLCompositeType, { selections }: SelectionSetNode): number {
    let sum = 0
    for (const selection of selections) {
      if (selection.kind === Kind.FRAGMENT_SPREAD) sum += placesInFragment(selection.name.value)
      else if (selection.kind === Kind.INLINE_FRAGMENT)
        sum += placesIn(typeNamed(selection.typeCondition?.name.value) ?? parent, selection.selectionSet)
      else if (selection.selectionSet !== undefined) {
        const field = 'getFields' in parent ? parent.getFields()[selection.name.value] : undefined
        const type = getNamedType(field?.type)
        if (!isCompositeType(type)) continue
        sum += (isAbstractType(type) ? schema.getPossibleTypes(type).length : 0) + placesIn(type, selection.selectionSet)
      }
    }
    return sum
  }

  function placesInFragment(name: string): number {
    const fragment = fragments.get(name)
    const type = typeNamed(fragment?.typeCondition.name.value)
    const places = known.get(name) ?? (fragment === undefined || type === undefined ? 0 : placesIn(type, fragment.selectionSet))
    known.set(name, places)
    return places
  }

  function typeNamed(name: string | undefined): GraphQLCompositeType | undefined {
    const type = name === undefined ? undefined : schema.getType(name)
    return isCompositeType(type) ? type : undefined
  }
}
