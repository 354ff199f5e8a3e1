/**
 * Completes the values of entities: makes the objects of an answer from the values that the resolvers gave. The generated function handles
 * the frequent cases: valid values, and errors of entities and of their nullable fields. It throws at the first other value, and graphql-js
 * completes all values instead.
 */
import { GraphQLError, isEnumType, isLeafType, isListType, isNonNullType, isObjectType, isSpecifiedScalarType } from 'graphql'
import type { GraphQLLeafType, GraphQLOutputType } from 'graphql'
import { entry, makeBind, makeFunction, promiseTest, read } from '../execution/codegen.ts'
import { giveUp } from '../execution/json-projection.ts'
import { leafTest } from '../execution/leaf-values.ts'
import { compileItems } from '../execution/projection.ts'
import { isPromise } from '../execution/run.ts'
import type { PlainField, PlainSelection } from './plain-types.ts'
import type { FetchError } from './transport.ts'

/** Adds to `errors`. Undefined if graphql-js has to complete the values. The values themselves stay unchanged. */
export type Complete = (items: readonly unknown[], errors: FetchError[]) => unknown[] | undefined

type Bind = (value: unknown) => string
/** Adds an error to `errors`, and returns the null in its place. */
type Fail = (errors: FetchError[], error: Error, place: number, name?: string) => null

/** `key`: the response key of the list. */
export function compileComplete(key: string, selection: PlainSelection): Complete {
  const fail: Fail = (errors, error, place, name) => {
    const path = name === undefined ? [key, place] : [key, place, name]
    errors.push(new GraphQLError(error.message, { path, originalError: error }))
    return null
  }
  const bindings: Record<string, unknown> = { fail, giveUp }
  const source = objectSource(
    selection,
    makeBind(bindings),
    ({ name }) => `v instanceof Error ? fail(errors, v, at, ${JSON.stringify(name)}) : `,
  )
  const body = `const entities = new Array(items.length); let v;
    for (let at = 0; at < items.length; at++) {
      const object = items[at];
      entities[at] = object === null || object === undefined ? null : object instanceof Error ? fail(errors, object, at) : ${source};
    }
    return entities`
  const complete = makeFunction<(items: readonly unknown[], errors: FetchError[]) => unknown[]>(['items', 'errors'], body, bindings)
  return (items, errors) => {
    try {
      return complete(items, errors)
    } catch {
      // `giveUp` threw, or a getter of a value.
      return undefined
    }
  }
}

/** The source of an expression that completes `object`. `whenError` returns the source that handles an error in a nullable field. */
function objectSource({ type, fields }: PlainSelection, bind: Bind, whenError: (field: PlainField) => string): string {
  const entries = fields.map((plain) => {
    const { name, field, of } = plain
    if (field === undefined) return entry(name, JSON.stringify(type.name))
    const error = isNonNullType(field.type) ? '' : whenError(plain)
    return entry(name, `(v = ${read('object', name)}, ${error}${valueSource(field.type, of, bind)})`)
  })
  return `{ ${entries.join(', ')} }`
}

function compileObject(of: PlainSelection): (value: unknown) => Record<string, unknown> {
  const bindings: Record<string, unknown> = { giveUp }
  const source = objectSource(of, makeBind(bindings), () => '')
  const body = `if (typeof object !== 'object' || object instanceof Error || ${promiseTest('object')}) giveUp(); let v; return ${source}`
  return makeFunction(['object'], body, bindings)
}

/** The source of an expression that completes `v`. `of` is the selection on its object type. A leaf has none. */
function valueSource(type: GraphQLOutputType, of: PlainSelection | undefined, bind: Bind): string {
  const inner = isNonNullType(type) ? type.ofType : type
  return `(v === null || v === undefined ? ${inner === type ? 'null' : 'giveUp()'} : ${presentSource(inner, of, bind)})`
}

function presentSource(type: GraphQLOutputType, of: PlainSelection | undefined, bind: Bind): string {
  if (isLeafType(type)) return leafSource(type, bind)
  if (isListType(type)) return `${bind(compileItems((inner) => valueSource(type.ofType, of, inner)))}(v)`
  if (!isObjectType(type) || of === undefined) throw new Error(`a selection on ${String(type)} is not plain`)
  return `${bind(compileObject(of))}(v)`
}

function leafSource(type: GraphQLLeafType, bind: Bind): string {
  const isUnchanged = isEnumType(type) ? type.getValues().every(({ name, value }) => name === value) : isSpecifiedScalarType(type)
  if (!isUnchanged) return `${bind(serialize)}(${bind(type)}, v)`
  const other = type.name === 'ID' ? '(v | 0) === v ? String(v) : giveUp()' : 'giveUp()'
  return `(${leafTest(type, bind)} ? v : ${other})`
}

function serialize(type: GraphQLLeafType, value: unknown): unknown {
  return value instanceof Error || isPromise(value) ? giveUp() : (type.serialize(value) ?? giveUp())
}
