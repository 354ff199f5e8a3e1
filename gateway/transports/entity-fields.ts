/**
 * Calls the resolvers of the fields of entities. The result is one plain object per entity, with the values of all fields. If a resolver
 * fails, its error takes the place of the value.
 *
 * The functions are generated per fetch, so that V8 can inline the resolvers. graphql-jit makes five functions for each call of a resolver;
 * here none is made, and one `Promise.all` waits for the promises of all resolvers.
 */
import { inspect } from 'node:util'
import type { FieldNode, GraphQLField, GraphQLObjectType, GraphQLResolveInfo, GraphQLSchema, OperationDefinitionNode } from 'graphql'
import { entry, makeFunction, read } from '../execution/codegen.ts'
import { isPromise } from '../execution/run.ts'
import type { FetchVariables } from './transport.ts'

/** An entity or its error, or null, in the order of the representations. */
type Entities = readonly unknown[]
type Path = GraphQLResolveInfo['path']

export type ResolveFields = (entities: Entities, context: object, variables: FetchVariables) => unknown[] | Promise<unknown[]>
/** Adds the promises of the resolvers to `promises`. */
type CallAll = (entities: Entities, context: object, variables: FetchVariables, promises: Promise<unknown>[]) => unknown[]
/** Replaces the promises by their values, which have the same order. */
type Settle = (items: readonly unknown[], values: readonly unknown[]) => void

export type FieldsSource = {
  readonly schema: GraphQLSchema
  readonly operation: OperationDefinitionNode
  readonly type: GraphQLObjectType
  readonly fields: readonly FieldNode[]
  /** The path of the list. */
  readonly path: Path
}

export function compileFields(source: FieldsSource): ResolveFields {
  const names = source.fields.map(({ name }) => name.value)
  const callAll = compileCalls(source)
  const settle = compileSettle(names.filter((name) => source.type.getFields()[name]?.resolve !== undefined))
  return (entities, context, variables) => {
    const promises: Promise<unknown>[] = []
    const items = callAll(entities, context, variables, promises)
    if (promises.length === 0) return items
    return valuesOf(promises).then((values) => {
      settle(items, values)
      return items
    })
  }
}

/** The values of promises, with errors in place of rejections. */
function valuesOf(promises: readonly Promise<unknown>[]): Promise<unknown[]> {
  return Promise.all(promises).catch(async () => {
    const settled = await Promise.allSettled(promises)
    return settled.map((each) => (each.status === 'fulfilled' ? each.value : toError(each.reason)))
  })
}

function compileCalls(source: FieldsSource): CallAll {
  const bindings: Record<string, unknown> = { isPromise, toError }
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
  return makeFunction<CallAll>(['entities', 'context', 'variables', 'promises'], body, bindings)
}

function callSource(index: number, target: string): string {
  return `try { value = resolve${index}(entity, {}, context, infoOf${index}(at, variables)) } catch (error) { value = toError(error) }
    if (isPromise(value)) promises.push(Promise.resolve(value));
    ${target} = value;`
}

function compileSettle(names: readonly string[]): Settle {
  const takes = names.map((name) => {
    const target = `item[${JSON.stringify(name)}]`
    return `if (isPromise(${target})) ${target} = values[next++];`
  })
  const body = `let next = 0;
    for (const item of items) {
      if (item === null || item === undefined || item instanceof Error) continue;
      ${takes.join('\n')}
    }`
  return makeFunction<Settle>(['items', 'values'], body, { isPromise })
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

export function toError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(`Unexpected error value: ${inspect(thrown)}`, { cause: thrown })
}
