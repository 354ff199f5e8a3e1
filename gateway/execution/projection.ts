/**
 * The projection makes the answer from the data. The answer has only the fields that the client selected, under the client's keys and
 * in its order. Nulls are propagated, and errors have the client's paths.
 *
 * There are two projections. The fast one is a function that is generated for the shape and handles only valid data. At the first
 * invalid value it gives up, and the slow one starts over. The slow one walks the shape and handles all data. For escaped runs the fast
 * one writes bytes: json-projection.ts.
 */
import { entry, makeBind, makeFunction, read } from './codegen.ts'
import { GIVE_UP, compileAbstract, compileJson, giveUp } from './json-projection.ts'
import { leafTest } from './leaf-values.ts'
import { projectSlowly } from './projection-slow.ts'
import type { ExecutionAnswer, Run } from './run.ts'
import type { ObjectShape, Shape } from './shape.ts'

type Project = (value: unknown) => Record<string, unknown>

/** Makes the answer to a run. */
export type Projection = {
  toAnswer(run: Run): ExecutionAnswer
  /** The same, as the bytes of its JSON if it has no errors. Only for escaped runs. */
  toJson(run: Run): ExecutionAnswer | Buffer
}

/** `prepare` is called with each run first. The fast projections are generated when they are first needed. */
export function compileProjection(shape: ObjectShape, prepare?: (run: Run) => void): Projection {
  let project: Project | undefined
  let write: ((data: unknown) => Buffer) | undefined
  return {
    toAnswer: (run) => fastOrSlow(shape, run, prepare, (data) => ({ data: (project ??= compileObject(shape))(data) })),
    toJson: (run) => fastOrSlow(shape, run, prepare, (data) => (write ??= compileJson(shape))(data)),
  }
}

function fastOrSlow<Answer>(
  shape: ObjectShape,
  run: Run,
  prepare: ((run: Run) => void) | undefined,
  fast: (data: unknown) => Answer,
): Answer | ExecutionAnswer {
  prepare?.(run)
  if (run.failures.length > 0) return projectSlowly(shape, run)
  try {
    return fast(run.data)
  } catch (reason) {
    if (reason !== GIVE_UP) throw reason
    return projectSlowly(shape, run)
  }
}

function compileObject(shape: ObjectShape): Project {
  const bindings: Record<string, unknown> = { giveUp }
  const bind = makeBind(bindings)
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
      return `(v === null || v === undefined ? ${whenNull} : ${bind(compileItems((inner) => valueSource(shape.of, inner)))}(v))`
    case 'abstract':
      return `(v === null || v === undefined ? ${whenNull} : ${bind(compileAbstract(shape.of, compileObject))}(v))`
    default:
      return shape satisfies never
  }
}

/** Makes a function that takes each item of a list, by the source of an expression of `v`. It gives up if the value is no list. */
export function compileItems(itemSource: (bind: (value: unknown) => string) => string): (list: unknown) => unknown[] {
  const bindings: Record<string, unknown> = { giveUp }
  const item = itemSource(makeBind(bindings))
  const body = `if (!Array.isArray(list)) giveUp(); let v; const items = []; for (let i = 0; i < list.length; i++) { v = list[i]; items.push(${item}) } return items`
  return makeFunction(['list'], body, bindings)
}
