/**
 * The projection makes the answer from the data. The answer has only the fields that the client selected, under the client's keys and
 * in its order. Nulls are propagated, and errors have the client's paths.
 *
 * There are two projections. The fast one is a function that is generated for the shape and handles only valid data. At the first
 * invalid value it gives up, and the slow one starts over. The slow one walks the shape and handles all data.
 */
import { entry, makeFunction, read } from './codegen.ts'
import { leafTest } from './leaf-values.ts'
import { projectSlowly } from './projection-slow.ts'
import type { ExecutionAnswer, Run } from './run.ts'
import type { ObjectShape, Shape } from './shape.ts'

type Project = (value: unknown) => Record<string, unknown>

export function compileProjection(shape: ObjectShape): (run: Run) => ExecutionAnswer {
  const project = compileObject(shape)
  return (run) => {
    if (run.failures.length > 0) return projectSlowly(shape, run)
    try {
      return { data: project(run.data) }
    } catch (reason) {
      if (reason !== GIVE_UP) throw reason
      return projectSlowly(shape, run)
    }
  }
}

const GIVE_UP = new Error('the data needs the slow projection')
const giveUp = (): never => {
  throw GIVE_UP
}

function compileObject(shape: ObjectShape): Project {
  const bindings: Record<string, unknown> = { giveUp }
  const bind = (value: unknown): string => {
    const name = `b${Object.keys(bindings).length}`
    bindings[name] = value
    return name
  }
  const entries = shape.fields.map(({ key, from, shape: of }) => {
    if (of.kind === 'typename') return entry(key, shape.typename === undefined ? 'giveUp()' : JSON.stringify(shape.typename))
    return entry(key, `(v = ${read('object', from)}, ${valueSource(of, bind)})`)
  })
  return makeFunction<Project>(
    ['object'],
    `if (typeof object !== 'object' || Array.isArray(object)) giveUp(); let v; return { ${entries.join(', ')} }`,
    bindings,
  )
}

/** The source of an expression that projects `v`. */
function valueSource(shape: Shape, bind: (value: unknown) => string): string {
  const whenNull = shape.nonNull ? 'giveUp()' : 'null'
  switch (shape.kind) {
    case 'leaf':
      return `(v === null || v === undefined ? ${whenNull} : ${leafTest(shape.type, bind)} ? v : giveUp())`
    case 'raw':
    case 'typename':
      return '(v ?? null)'
    case 'object':
      return `(v === null || v === undefined ? ${whenNull} : ${bind(compileObject(shape))}(v))`
    case 'list':
      return `(v === null || v === undefined ? ${whenNull} : ${bind(compileList(shape.of))}(v))`
    case 'abstract':
      return `(v === null || v === undefined ? ${whenNull} : ${bind(compileAbstract(shape.of))}(v))`
    default:
      return shape satisfies never
  }
}

function compileList(of: Shape): (value: unknown) => unknown[] {
  const bindings: Record<string, unknown> = { giveUp }
  const bind = (value: unknown): string => {
    const name = `b${Object.keys(bindings).length}`
    bindings[name] = value
    return name
  }
  const item = valueSource(of, bind)
  const body = `if (!Array.isArray(list)) giveUp(); let v; const items = []; for (let i = 0; i < list.length; i++) { v = list[i]; items.push(${item}) } return items`
  return makeFunction(['list'], body, bindings)
}

function compileAbstract(shapeOf: (typename: string | undefined) => ObjectShape | undefined): Project {
  const byType = new Map<unknown, Project>()
  return (value) => {
    const typename = (value as { __typename?: unknown }).__typename
    let project = byType.get(typename)
    if (project === undefined) {
      const shape = typename === undefined || typeof typename === 'string' ? shapeOf(typename) : undefined
      if (shape === undefined) return giveUp()
      project = compileObject(shape)
      byType.set(typename, project)
    }
    return project(value)
  }
}
