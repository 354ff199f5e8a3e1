/**
 * The fast projection of an escaped tree (escaped.ts): the JSON of the answer. Texts of the subgraphs' answers are copied into it as they
 * are.
 */
import { isEnumType, isSpecifiedScalarType } from 'graphql'
import type { GraphQLLeafType } from 'graphql'
import { makeBind, makeFunction, read } from './codegen.ts'
import { Piece, escapedJson, unescapeTree } from './escaped.ts'
import { makeJsonBuffer, type JsonBuffer } from './json-buffer.ts'
import { isShallow, leafTest } from './leaf-values.ts'
import type { ObjectShape, Shape } from './shape.ts'

type Write = (value: unknown, json: JsonBuffer) => void

export const GIVE_UP = new Error('the data needs the slow projection')
export const giveUp = (): never => {
  throw GIVE_UP
}

/** All answers are written here, one after the other. */
const json = makeJsonBuffer()

/** The function throws GIVE_UP if the data need the slow projection. */
export function compileJson(shape: ObjectShape): (data: unknown) => Buffer {
  const write = compileObject(shape)
  return (data) => {
    try {
      json.add('{"data":')
      write(data, json)
      json.add('}')
      return json.toBytes()
    } finally {
      json.clear()
    }
  }
}

function compileObject(shape: ObjectShape): Write {
  const bindings: Record<string, unknown> = { giveUp, Piece, writeScalar, writeValue }
  const bind = makeBind(bindings)
  const steps = shape.fields.map(({ key, from, shape: of }, index) => {
    const start = `${index === 0 ? '{' : ','}${escapedJson(key)}:`
    if (of.kind === 'typename') return shape.typename === undefined ? 'giveUp();' : append(start + escapedJson(shape.typename))
    return `v = ${read('object', from)}; ${valueSource(of, start, bind)}`
  })
  const check = "if (typeof object !== 'object' || Array.isArray(object)) giveUp();"
  return makeFunction(['object', 'json'], `${check} let v; ${steps.join('\n')} ${append(steps.length === 0 ? '{}' : '}')}`, bindings)
}

function append(constant: string): string {
  return `json.add(${JSON.stringify(constant)});`
}

/** The source of statements that write `start` and the value `v`. */
function valueSource(shape: Shape, start: string, bind: (value: unknown) => string): string {
  const whenNull = shape.nonNull ? 'giveUp();' : append(`${start}null`)
  const orNull = (statements: string): string => `if (v === null || v === undefined) { ${whenNull} } else { ${statements} }`
  switch (shape.kind) {
    case 'leaf':
      return orNull(leafSource(shape.type, start, bind))
    case 'raw':
    case 'typename':
      return `${append(start)} writeValue(v, json);`
    case 'object':
      return orNull(`${append(start)} ${bind(compileObject(shape))}(v, json);`)
    case 'list':
      return orNull(`${append(start)} ${bind(compileList(shape.of))}(v, json);`)
    case 'abstract':
      return orNull(`${append(start)} ${bind(compileAbstract(shape.of, compileObject))}(v, json);`)
    default:
      return shape satisfies never
  }
}

function leafSource(type: GraphQLLeafType, start: string, bind: (value: unknown) => string): string {
  const text = `${append(`${start}"`)} json.add(v); json.add('"');`
  const piece = `${append(`${start}"`)} json.addPiece(v); json.add('"');`
  const plain = `${append(start)} json.add('' + v);`
  const test = leafTest(type, bind)
  if (isEnumType(type)) return `if (${test}) { ${text} } else giveUp();`
  if (!isSpecifiedScalarType(type)) return `${append(start)} writeScalar(v, json);`
  if (type.name === 'String' || type.name === 'ID')
    return `if (${test}) { ${text} } else if (v instanceof Piece) { ${piece} } else giveUp();`
  return `if (${test}) { ${plain} } else giveUp();`
}

/** A value of a custom scalar, which may be any JSON. */
function writeScalar(value: unknown, json: JsonBuffer): void {
  if (!isShallow(value, 0)) giveUp()
  writeValue(unescapeTree(value), json)
}

/** An ordinary value: introspection. */
function writeValue(value: unknown, json: JsonBuffer): void {
  json.add(escapedJson(value ?? null))
}

function compileList(of: Shape): Write {
  const bindings: Record<string, unknown> = { giveUp, Piece, writeScalar, writeValue }
  const item = valueSource(of, '', makeBind(bindings))
  const body = `if (!Array.isArray(list)) giveUp(); let v; json.add('[');
    for (let i = 0; i < list.length; i++) { if (i > 0) json.add(','); v = list[i]; ${item} } json.add(']');`
  return makeFunction(['list', 'json'], body, bindings)
}

/** The projection of an abstract type, by the type of each object. */
export function compileAbstract<Rest extends unknown[], Result>(
  shapeOf: (typename: string | undefined) => ObjectShape | undefined,
  compile: (shape: ObjectShape) => (value: unknown, ...rest: Rest) => Result,
): (value: unknown, ...rest: Rest) => Result {
  const byType = new Map<unknown, (value: unknown, ...rest: Rest) => Result>()
  return (value, ...rest) => {
    const typename = (value as { __typename?: unknown }).__typename
    let project = byType.get(typename)
    if (project === undefined) {
      const shape = typename === undefined || typeof typename === 'string' ? shapeOf(typename) : undefined
      if (shape === undefined) return giveUp()
      project = compile(shape)
      byType.set(typename, project)
    }
    return project(value, ...rest)
  }
}
