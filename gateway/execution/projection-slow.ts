/**
 * The slow projection handles data with errors. It completes values as the GraphQL specification requires (6.4.3, 6.4.4): a null in a
 * non-null place makes its parent null, up to the nearest nullable place.
 *
 * A null in a non-null place has exactly one explanation. Either a subgraph reported an error at or below its path, or a fetch for its
 * object failed as a whole. Without an explanation (an entity is missing, a subgraph omits a field) the null gets an error here.
 */
import { GraphQLError } from 'graphql'
import { unescapeTree } from './escaped.ts'
import { serializeLeaf } from './leaf-values.ts'
import type { ExecutionAnswer, DataPath, Run } from './run.ts'
import { isRecord } from './run.ts'
import type { FieldShape, ObjectShape, Shape } from './shape.ts'
import { clientError } from './subgraph-errors.ts'

/** The result of completing a value that is null in a non-null place. */
const BROKEN = Symbol('null in a non-null place')

type Completing = {
  readonly path: (string | number)[]
  readonly errors: GraphQLError[]
  /** All paths, joined, that lead to an error or to a place above one. */
  readonly explained: Set<string>
  readonly lost: ReadonlySet<object> | undefined
  readonly isEscaped: boolean
}

export function projectSlowly(shape: ObjectShape, run: Run): ExecutionAnswer {
  const errors = run.failures.flatMap(({ error, path }) => {
    const seen = path === undefined ? [undefined] : clientPaths(shape, run.data, path)
    return seen.map((place) => clientError(error, place))
  })
  const completing: Completing = { path: [], errors, explained: new Set(), lost: run.lost, isEscaped: run.isEscaped }
  for (const { path = [] } of errors) explain(completing, path)
  const data = completeObject(shape, run.data, completing)
  const answer: ExecutionAnswer = { data: data === BROKEN ? null : (data as Record<string, unknown>) }
  if (errors.length > 0) answer.errors = errors
  return answer
}

function explain({ explained }: Completing, path: readonly (string | number)[]): void {
  for (let length = 1; length <= path.length; length += 1) explained.add(path.slice(0, length).join('.'))
}

function completeObject(shape: ObjectShape, object: Record<string, unknown>, completing: Completing): unknown {
  const completed: Record<string, unknown> = Object.create(null)
  let broken = false
  for (const field of shape.fields) {
    completing.path.push(field.key)
    const value = completeField(field, shape, object, completing)
    completing.path.pop()
    if (value === BROKEN) broken = true
    else completed[field.key] = value
  }
  return broken ? BROKEN : completed
}

function completeField(
  { from, owner, shape }: FieldShape,
  parent: ObjectShape,
  object: Record<string, unknown>,
  completing: Completing,
): unknown {
  if (shape.kind === 'typename')
    return parent.typename ?? fail(`The subgraph gave no type name for the object of ${owner}.`, completing, BROKEN)
  const value = Object.hasOwn(object, from) ? object[from] : undefined
  const isLost = completing.lost?.has(object) === true
  return complete(shape, value, owner, completing, isLost)
}

function complete(shape: Shape, value: unknown, owner: string, completing: Completing, isLost: boolean): unknown {
  const completed =
    value === null || value === undefined ? nullAt(shape, owner, completing, isLost) : completeValue(shape, value, owner, completing)
  return completed === BROKEN && !shape.nonNull ? null : completed
}

function nullAt(shape: Shape, owner: string, completing: Completing, isLost: boolean): unknown {
  if (!shape.nonNull) return null
  if (isLost || completing.explained.has(completing.path.join('.'))) return BROKEN
  return fail(`Cannot return null for non-nullable field ${owner}.`, completing, BROKEN)
}

/** Returns BROKEN for an invalid value; `complete` decides whether null is allowed here. */
function completeValue(shape: Shape, value: unknown, owner: string, completing: Completing): unknown {
  switch (shape.kind) {
    case 'raw':
    case 'typename':
      return value
    case 'leaf':
      try {
        return (
          serializeLeaf(shape.type, completing.isEscaped ? unescapeTree(value) : value) ??
          fail(`Expected a value for ${owner}.`, completing, BROKEN)
        )
      } catch {
        // The message does not show the value, which may belong to another viewer.
        return fail(`Expected a ${shape.type.name} for field ${owner}, but the subgraph gave another value.`, completing, BROKEN)
      }
    case 'list':
      return Array.isArray(value)
        ? completeList(shape.of, value, owner, completing)
        : fail(`Expected a list for field ${owner}.`, completing, BROKEN)
    case 'object':
      return isRecord(value) ? completeObject(shape, value, completing) : fail(`Expected an object for field ${owner}.`, completing, BROKEN)
    case 'abstract': {
      const typename = isRecord(value) ? value['__typename'] : null
      const possible = typename === undefined || typeof typename === 'string' ? shape.of(typename) : undefined
      if (possible === undefined || !isRecord(value))
        return fail(`Expected an object of a type of ${shape.name} for field ${owner}.`, completing, BROKEN)
      return completeObject(possible, value, completing)
    }
    default:
      return shape satisfies never
  }
}

function completeList(of: Shape, values: readonly unknown[], owner: string, completing: Completing): unknown {
  let broken = false
  const items = values.map((value, index) => {
    completing.path.push(index)
    const item = complete(of, value, owner, completing, false)
    completing.path.pop()
    if (item === BROKEN) broken = true
    return item
  })
  return broken ? BROKEN : items
}

function fail<T>(message: string, { errors, path }: Completing, outcome: T): T {
  errors.push(new GraphQLError(message, { path: [...path], extensions: { code: 'SUBGRAPH_ERROR' } }))
  return outcome
}

/**
 * The client's paths for a failure at a path of the data. `undefined` stands for a path that the client does not know. The path ends
 * where the client's selection ends, at a key that the planner added. A failure below that key is reported only if the answer lacks
 * something because of it.
 */
function clientPaths(root: ObjectShape, data: unknown, path: DataPath): ((string | number)[] | undefined)[] {
  const result: (string | number)[] = []
  let shape: Shape | undefined = root
  let value: unknown = data
  for (const key of path) {
    const next = stepInto(shape, value, key)
    if (next === undefined) return isComplete(shape, value) ? [] : [result.length === 0 ? undefined : result]
    result.push(next.key)
    shape = next.shape
    value = Array.isArray(value) || isRecord(value) ? (value as Record<string | number, unknown>)[key] : undefined
  }
  return [result.length === 0 ? undefined : result]
}

function isComplete(shape: Shape, value: unknown): boolean {
  const object = shape.kind === 'abstract' ? shape.of(typenameOf(value)) : shape
  if (object?.kind !== 'object' || !isRecord(value)) return false
  return object.fields.every(({ from, shape: of }) => of.kind === 'typename' || value[from] !== undefined)
}

function stepInto(shape: Shape, value: unknown, key: string | number): { key: string | number; shape: Shape } | undefined {
  if (shape.kind === 'list') return typeof key === 'number' ? { key, shape: shape.of } : undefined
  const object = shape.kind === 'abstract' ? shape.of(typenameOf(value)) : shape
  return object?.kind === 'object' ? object.fields.find(({ from }) => from === key) : undefined
}

function typenameOf(value: unknown): string | undefined {
  return isRecord(value) && typeof value['__typename'] === 'string' ? value['__typename'] : undefined
}
