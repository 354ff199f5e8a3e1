/**
 * Completes the values of entities: makes the objects of an answer from the values that the resolvers gave. The generated function handles
 * valid values only. It throws at the first other one, and graphql-js completes all values instead: it converts, and reports errors and nulls.
 */
import { isEnumType, isLeafType, isListType, isNonNullType, isObjectType, isSpecifiedScalarType } from 'graphql'
import type { FieldNode, GraphQLLeafType, GraphQLObjectType, GraphQLOutputType } from 'graphql'
import { entry, makeBind, makeFunction, read } from '../execution/codegen.ts'
import { giveUp } from '../execution/json-projection.ts'
import { leafTest } from '../execution/leaf-values.ts'
import { isPromise } from '../execution/run.ts'
import { plainSelection } from './plain-types.ts'

/** Undefined if graphql-js has to complete the values. The values themselves stay unchanged. */
export type Complete = (items: readonly unknown[]) => unknown[] | undefined

export function compileComplete(type: GraphQLObjectType, fields: readonly FieldNode[]): Complete {
  const complete = compileList((bind) => `(v === null || v === undefined ? null : ${bind(compileObject(type, fields))}(v))`)
  return (items) => {
    try {
      return complete(items)
    } catch {
      return undefined
    }
  }
}

type Bind = (value: unknown) => string

function compileList(item: (bind: Bind) => string): (list: unknown) => unknown[] {
  const bindings: Record<string, unknown> = { giveUp }
  const source = item(makeBind(bindings))
  const body = `if (!Array.isArray(list)) giveUp(); const items = []; for (let at = 0; at < list.length; at++) { const v = list[at]; items.push(${source}) } return items`
  return makeFunction(['list'], body, bindings)
}

function compileObject(type: GraphQLObjectType, fields: readonly FieldNode[]): (value: object) => Record<string, unknown> {
  const bindings: Record<string, unknown> = { giveUp, isPromise }
  const bind = makeBind(bindings)
  const entries = fields.map((node) => {
    const { value: name } = node.name
    const field = type.getFields()[name]
    return entry(
      name,
      field === undefined ? JSON.stringify(type.name) : `(v = ${read('object', name)}, ${valueSource(field.type, node, bind)})`,
    )
  })
  const body = `if (typeof object !== 'object' || object instanceof Error || isPromise(object)) giveUp(); let v; return { ${entries.join(', ')} }`
  return makeFunction(['object'], body, bindings)
}

/** The source of an expression that completes `v`. */
function valueSource(type: GraphQLOutputType, node: FieldNode, bind: Bind): string {
  const of = isNonNullType(type) ? type.ofType : type
  return `(v === null || v === undefined ? ${of === type ? 'null' : 'giveUp()'} : ${presentSource(of, node, bind)})`
}

function presentSource(type: GraphQLOutputType, node: FieldNode, bind: Bind): string {
  if (isLeafType(type)) return leafSource(type, bind)
  if (isListType(type)) return `${bind(compileList((inner) => valueSource(type.ofType, node, inner)))}(v)`
  if (!isObjectType(type)) throw new Error(`the type ${String(type)} has no plain values`)
  return `${bind(compileObject(type, plainSelection(type, node.selectionSet?.selections ?? []) ?? []))}(v)`
}

function leafSource(type: GraphQLLeafType, bind: Bind): string {
  const isUnchanged = isEnumType(type) ? type.getValues().every(({ name, value }) => name === value) : isSpecifiedScalarType(type)
  return isUnchanged ? `(${leafTest(type, bind)} ? v : giveUp())` : `${bind(serialize)}(${bind(type)}, v)`
}

function serialize(type: GraphQLLeafType, value: unknown): unknown {
  if (value instanceof Error || isPromise(value)) return giveUp()
  try {
    return type.serialize(value) ?? giveUp()
  } catch {
    return giveUp()
  }
}
