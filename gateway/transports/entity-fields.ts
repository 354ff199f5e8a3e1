/**
 * Calls the resolvers of the fields of entities. The result is one plain object per entity, with the values of all fields. If a resolver
 * fails, its error takes the place of the value.
 *
 * The functions are generated per fetch, so that V8 can inline the resolvers. graphql-jit makes five functions for each call of a resolver;
 * here none is made, and one `Promise.all` waits for the promises of all resolvers.
 */
import { getNullableType, isListType } from 'graphql'
import type { GraphQLResolveInfo } from 'graphql'
import { entry, makeFunction, read } from '../execution/codegen.ts'
import { isPromise } from '../execution/run.ts'
import { toError, valuesOf } from './entity-errors.ts'
import type { PlainField, PlainSelection } from './plain-types.ts'
import type { FetchVariables } from './transport.ts'

/** An entity or its error, or null, in the order of the representations. */
type Entities = readonly unknown[]

export type ResolveFields = (entities: Entities, context: object, variables: FetchVariables) => unknown[] | Promise<unknown[]>
/** Adds the promises of the resolvers to `promises`. */
type CallAll = (entities: Entities, context: object, variables: FetchVariables, promises: Promise<unknown>[]) => unknown[]
/** Replaces the promises by their values, which have the same order. */
type Settle = (items: readonly unknown[], values: readonly unknown[]) => void

/** The info of a field of the entity at this place of its list. */
export type InfoOf = (field: PlainField) => (place: number, variables: FetchVariables) => GraphQLResolveInfo

export function compileFields({ fields }: PlainSelection, infoOf: InfoOf): ResolveFields {
  const callAll = compileCalls(fields, infoOf)
  const settle = compileSettle(fields.filter(({ field }) => field?.resolve !== undefined))
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

function compileCalls(fields: readonly PlainField[], infoOf: InfoOf): CallAll {
  const bindings: Record<string, unknown> = { isPromise, toError, held, itemOf, names: fields.map(({ name }) => name) }
  const literal: string[] = []
  const calls: string[] = []
  for (const [index, plain] of fields.entries()) {
    const { field, name } = plain
    // `__typename` needs no value.
    if (field === undefined) continue
    literal.push(entry(name, field.resolve === undefined ? read('entity', name) : 'undefined'))
    if (field.resolve === undefined) continue
    bindings[`resolve${index}`] = field.resolve
    bindings[`info${index}`] = infoOf(plain)
    calls.push(callSource(index, plain))
  }
  const body = `const items = [];
    for (let at = 0; at < entities.length; at++) {
      const entity = entities[at];
      if (entity === null || entity === undefined || entity instanceof Error) { items.push(entity); continue }
      let item;
      try { item = { ${literal.join(', ')} } } catch { item = itemOf(entity, names) }
      items.push(item);
      let value;
      ${calls.join('\n')}
    }
    return items`
  return makeFunction<CallAll>(['entities', 'context', 'variables', 'promises'], body, bindings)
}

/** A value is taken as a promise once: some values are none any more when they are read again. */
function callSource(index: number, { name, field }: PlainField): string {
  const isList = field !== undefined && isListType(getNullableType(field.type))
  const promise = isList ? 'Promise.resolve(value).then(held)' : 'Promise.resolve(value)'
  return `try {
      value = resolve${index}(entity, {}, context, info${index}(at, variables));
      if (isPromise(value)) promises.push(value = ${promise});
      ${isList ? 'else held(value);' : ''}
    } catch (error) { value = toError(error) }
    item[${JSON.stringify(name)}] = value;`
}

function compileSettle(fields: readonly PlainField[]): Settle {
  const takes = fields.map(
    ({ name }) => `value = item[${JSON.stringify(name)}]; if (value instanceof Promise) item[${JSON.stringify(name)}] = values[next++];`,
  )
  const body = `let next = 0, value;
    for (const item of items) {
      if (item === null || item === undefined || item instanceof Error) continue;
      ${takes.join('\n')}
    }`
  return makeFunction<Settle>(['items', 'values'], body, {})
}

/** For an entity with a property that throws. */
function itemOf(entity: Record<string, unknown>, names: readonly string[]): Record<string, unknown> {
  const item: Record<string, unknown> = {}
  for (const name of names) {
    try {
      item[name] = entity[name]
    } catch (error) {
      item[name] = toError(error)
    }
  }
  return item
}

/** graphql-js takes the promises within a list only after the fields of all entities. A rejection before must not count as unhandled. */
function held(value: unknown): unknown {
  if (Array.isArray(value)) value.forEach(held)
  else if (isPromise(value)) Promise.resolve(value).catch(() => {})
  return value
}
