/**
 * Resolves entities in slices. A gateway sends thousands of representations in one call, and graphql-js would resolve all of them in one
 * turn of the event loop. Here `_entities` passes them to the resolver of `@apollo/subgraph` in slices. When an operation has asked for
 * `VALUES_PER_TURN` values, its next slice yields to the event loop. All operations of the process share the turns, so that other requests
 * are answered between any two slices.
 *
 * Each slice is also one batch of the loaders, instead of one batch of all representations.
 */
import { Kind, type GraphQLResolveInfo, type GraphQLSchema, type SelectionSetNode } from 'graphql'
import { makePortions, makeTurns } from '../core/event-loop-yield.ts'

/** About 5 ms of work. */
const VALUES_PER_TURN = 1_000
const SLICE_MAX = 200

type Entities = readonly unknown[]
type ByOperation = { portions: ReturnType<typeof makePortions>; last: Promise<void> }

/** Changes the resolver of `_entities`. A schema without entities is left as it is. */
export function takeEntitiesInTurns(schema: GraphQLSchema): void {
  const field = schema.getQueryType()?.getFields()['_entities']
  const resolve = field?.resolve
  if (field === undefined || resolve === undefined) return
  const nextTurn = makeTurns()
  // Fields of one operation run one after the other, however many aliases it has.
  const operations = new WeakMap<object, ByOperation>()

  field.resolve = (source: unknown, args: { representations: Entities }, context: object, info) => {
    const { representations } = args
    const values = 1 + countFields(info)
    const size = Math.max(1, Math.min(SLICE_MAX, Math.floor(VALUES_PER_TURN / values)))
    const slices: Promise<unknown>[] = []
    for (let start = 0; start < representations.length; start += size) {
      const slice = representations.slice(start, start + size)
      const entities = turnFor(context, slice.length * values).then(
        () => resolve(source, { representations: slice }, context, info) as Entities,
      )
      for (const index of slice.keys()) slices.push(entities.then((list) => list[index]))
    }
    return slices
  }

  function turnFor(context: object, values: number): Promise<void> {
    let state = operations.get(context)
    if (state === undefined) {
      state = { portions: makePortions(nextTurn, VALUES_PER_TURN), last: Promise.resolve() }
      operations.set(context, state)
    }
    const { portions } = state
    return (state.last = state.last.then(() => portions(values)))
  }
}

/** The most fields that one entity may be asked for: fields below it, with fragments, and each type counted separately. */
function countFields({ fieldNodes, fragments }: GraphQLResolveInfo): number {
  const known = new Map<string, number>()
  const count = (set: SelectionSetNode): number => {
    let fields = 0
    for (const selection of set.selections) {
      if (selection.kind === Kind.FIELD) fields += 1 + (selection.selectionSet === undefined ? 0 : count(selection.selectionSet))
      else if (selection.kind === Kind.INLINE_FRAGMENT) fields += count(selection.selectionSet)
      else {
        const { value: name } = selection.name
        const fragment = fragments[name]
        if (!known.has(name)) known.set(name, fragment === undefined ? 0 : count(fragment.selectionSet))
        fields += known.get(name) ?? 0
      }
    }
    return fields
  }
  return fieldNodes.reduce((sum, { selectionSet }) => sum + (selectionSet === undefined ? 0 : count(selectionSet)), 0)
}
