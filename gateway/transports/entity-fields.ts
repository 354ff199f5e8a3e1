/**
 * Calls the resolvers of the fields of entities. The result is one plain object per entity, with the values of all fields. If a resolver
 * fails, its error takes the place of the value.
 *
 * The function is generated per fetch, so that V8 can inline the resolvers. graphql-jit makes five functions for each call of a resolver;
 * this makes two, if the resolver returned a promise.
 */
import { inspect } from 'node:util'
import type { FieldNode, GraphQLField, GraphQLObjectType, GraphQLResolveInfo, GraphQLSchema, OperationDefinitionNode } from 'graphql'
import { entry, makeFunction, read } from '../execution/codegen.ts'
import { isPromise } from '../execution/run.ts'
import type { FetchVariables } from './transport.ts'

/** An entity or its error, or null, in the order of the representations. */
type Entities = readonly unknown[]
type Path = GraphQLResolveInfo['path']

/** The promises that have not settled. */
type Waiting = { count: number; done: () => void }

export type ResolveFields = (entities: Entities, context: object, variables: FetchVariables) => unknown[] | Promise<unknown[]>
type ResolveAll = (entities: Entities, context: object, variables: FetchVariables, waiting: Waiting) => unknown[]

export type FieldsSource = {
  readonly schema: GraphQLSchema
  readonly operation: OperationDefinitionNode
  readonly type: GraphQLObjectType
  readonly fields: readonly FieldNode[]
  /** The path of the list. */
  readonly path: Path
}

export function compileFields(source: FieldsSource): ResolveFields {
  const resolveAll = compileAll(source)
  return (entities, context, variables) => {
    const waiting: Waiting = { count: 0, done() {} }
    const items = resolveAll(entities, context, variables, waiting)
    return waiting.count === 0 ? items : new Promise((resolve) => (waiting.done = () => resolve(items)))
  }
}

function compileAll(source: FieldsSource): ResolveAll {
  const bindings: Record<string, unknown> = { isPromise, toError, settle }
  const literal: string[] = []
  const calls: string[] = []
  for (const [index, node] of source.fields.entries()) {
    const field = source.type.getFields()[node.name.value]
    // `__typename` needs no value.
    if (field === undefined) continue
    literal.push(entry(field.name, field.resolve === undefined ? read('entity', field.name) : 'undefined'))
    if (field.resolve === undefined) continue
    bindings[`resolve${index}`] = field.resolve
    bindings[`infoOf${index}`] = makeInfoOf(source, node, field)
    calls.push(callSource(index, `item[${JSON.stringify(field.name)}]`))
  }
  const body = `const items = [];
    for (let at = 0; at < entities.length; at++) {
      const entity = entities[at];
      if (entity === null || entity === undefined || entity instanceof Error) { items.push(entity); continue }
      const item = { ${literal.join(', ')} };
      items.push(item);
      let value;
      ${calls.join('\n')}
    }
    return items`
  return makeFunction<ResolveAll>(['entities', 'context', 'variables', 'waiting'], body, bindings)
}

function callSource(index: number, target: string): string {
  return `try { value = resolve${index}(entity, {}, context, infoOf${index}(at, variables)) } catch (error) { value = toError(error) }
    if (isPromise(value)) {
      waiting.count += 1;
      Promise.resolve(value).then((result) => { ${target} = result; settle(waiting) }, (error) => { ${target} = toError(error); settle(waiting) });
    } else ${target} = value;`
}

function makeInfoOf(source: FieldsSource, node: FieldNode, field: GraphQLField<unknown, unknown>) {
  const { schema, operation, type: parentType, path: list } = source
  const { name: fieldName, type: returnType } = field
  const fieldNodes = [node]
  const fragments = {}
  return (key: number, variableValues: FetchVariables): GraphQLResolveInfo => {
    const path = { key: fieldName, prev: { key, prev: list, typename: undefined }, typename: parentType.name }
    return { fieldName, fieldNodes, returnType, parentType, path, schema, fragments, rootValue: undefined, operation, variableValues }
  }
}

function settle(waiting: Waiting): void {
  waiting.count -= 1
  if (waiting.count === 0) waiting.done()
}

export function toError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(`Unexpected error value: ${inspect(thrown)}`, { cause: thrown })
}
