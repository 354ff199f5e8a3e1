/**
 * Calls the resolvers of the fields of entities. The result is one plain object per entity, with the values of all fields. If a resolver
 * fails, its error takes the place of the value.
 *
 * The functions are generated per fetch, so that V8 can inline the resolvers. graphql-jit creates five functions for each call of a resolver.
 * The generated code creates none. One `Promise.all` waits for the promises of all resolvers of a list.
 *
 * A resolver of `length` 3 gets no `info`. This saves 200 bytes per call, including the path, and a page has 150 resolver calls. A resolver
 * must therefore not take `info` by a default value or a rest after three parameters, or by `arguments`: their `length` is 3 too.
 * test/subgraphs/references.test.ts checks the resolvers of all subgraphs.
 */
import { getNullableType, isListType } from 'graphql'
import type { GraphQLField, GraphQLResolveInfo } from 'graphql'
import { entry, makeFunction, promiseTest, read } from '../execution/codegen.ts'
import { isIterable, isPromise } from '../execution/run.ts'
import { toError, valuesOf } from './entity-errors.ts'
import type { PlainField, PlainSelection } from './plain-types.ts'
import type { FetchVariables } from './transport.ts'

/** In the order of the representations. An entity may be null, an error or a promise. */
type Entities = readonly unknown[]

export type ResolveFields = (entities: Entities, context: object, variables: FetchVariables) => unknown[] | Promise<unknown[]>
/** One item per entity, and the promises of the resolvers in the order of their calls. */
type Called = { readonly items: unknown[]; readonly promises: readonly Promise<unknown>[] }
/** Undefined if an entity is a promise. No resolver is called then. `settled`: the entities are known to be values, so the promise test is skipped. */
type CallAll = (entities: Entities, context: object, variables: FetchVariables, settled: boolean) => Called | undefined
/** Replaces the promises by their values, which have the same order. */
type Settle = (items: readonly unknown[], values: readonly unknown[]) => void

/** Returns the function that makes the `info` of a field. `place` is the position of the entity in its list. */
export type InfoOf = (field: PlainField) => (place: number, variables: FetchVariables) => GraphQLResolveInfo

export function compileFields({ fields }: PlainSelection, infoOf: InfoOf): ResolveFields {
  const callAll = compileCalls(fields, infoOf)
  const settle = compileSettle(fields.filter(hasResolver))

  function callFields(entities: Entities, context: object, variables: FetchVariables, settled: boolean): unknown[] | Promise<unknown[]> {
    const called = callAll(entities, context, variables, settled)
    if (called === undefined)
      return valuesOf(entities.map((entity) => Promise.resolve(entity))).then((known) => callFields(known, context, variables, true))
    const { items, promises } = called
    if (promises.length === 0) return items
    return valuesOf(promises).then((values) => {
      settle(items, values)
      return items
    })
  }

  return (entities, context, variables) => callFields(entities, context, variables, false)
}

function compileCalls(fields: readonly PlainField[], infoOf: InfoOf): CallAll {
  const bindings: Record<string, unknown> = { toError, held, kept }
  const literal: string[] = []
  const calls: string[] = []
  for (const [index, plain] of fields.entries()) {
    const { field, name } = plain
    // `__typename` needs no value.
    if (field === undefined) continue
    literal.push(entry(name, 'undefined'))
    if (field.resolve !== undefined) {
      bindings[`resolve${index}`] = field.resolve
      if (field.resolve.length !== 3) bindings[`info${index}`] = infoOf(plain)
    }
    calls.push(field.resolve === undefined ? ownSource(name, field) : callSource(index, plain))
  }
  // The arrays get their size at once: an array that grows is copied several times.
  const body = `for (let at = 0; !settled && at < entities.length; at++) {
      const entity = entities[at];
      if (${promiseTest('entity')}) return undefined;
    }
    const items = new Array(entities.length);
    const promises = new Array(entities.length * ${fields.filter(hasResolver).length});
    let waiting = 0;
    for (let at = 0; at < entities.length; at++) {
      const entity = entities[at];
      if (entity === null || entity === undefined || entity instanceof Error) { items[at] = entity; continue }
      const item = items[at] = { ${literal.join(', ')} };
      let value;
      ${calls.join('\n')}
    }
    promises.length = waiting;
    return { items, promises }`
  return makeFunction<CallAll>(['entities', 'context', 'variables', 'settled'], body, bindings)
}

/** A property of the entity. It may be a getter that throws. */
function ownSource(name: string, field: GraphQLField<unknown, unknown>): string {
  const item = `item[${JSON.stringify(name)}]`
  return `try { ${item} = ${isList(field) ? 'held' : 'kept'}(${read('entity', name)}); } catch (error) { ${item} = toError(error) }`
}

/** A promise is replaced by a native one, and is not tested again: `then` may be a getter with another result the next time. */
function callSource(index: number, { name, field }: PlainField): string {
  const ofList = field !== undefined && isList(field)
  const promise = ofList ? 'Promise.resolve(value).then(held)' : 'Promise.resolve(value)'
  const info = field?.resolve?.length === 3 ? '' : `, info${index}(at, variables)`
  return `try {
      value = resolve${index}(entity, {}, context${info});
      if (${promiseTest('value')}) promises[waiting++] = value = ${promise};
      ${ofList ? 'else value = held(value);' : ''}
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

function hasResolver({ field }: PlainField): boolean {
  return field?.resolve !== undefined
}

function isList({ type }: GraphQLField<unknown, unknown>): boolean {
  return isListType(getNullableType(type))
}

/**
 * Replaces the promises in a list by native ones, and handles their rejections. graphql-js takes them only after all fields are resolved.
 * Promises within objects stay as they are.
 */
function held(value: unknown): unknown {
  if (isPromise(value)) return kept(Promise.resolve(value).then(held))
  return isIterable(value) ? Array.from(value, held) : value
}

/** Replaces a promise by a native one, and handles its rejection. */
function kept(value: unknown): unknown {
  if (!isPromise(value)) return value
  const promise = Promise.resolve(value)
  promise.catch(() => {})
  return promise
}
