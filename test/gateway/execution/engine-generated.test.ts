import fc from 'fast-check'
import {
  buildSchema,
  execute,
  getNamedType,
  isAbstractType,
  isLeafType,
  isNonNullType,
  isObjectType,
  isInterfaceType,
  parse,
  printSchema,
  validate,
} from 'graphql'
import type { GraphQLField, GraphQLNamedType, GraphQLSchema } from 'graphql'
import { expect, test } from 'vitest'
import { NAMES, ask, graphSchema, makeContext, openGraph } from '../engine-graph.ts'
import type { Act, GraphContext } from '../engine-graph.ts'

const engine = openGraph()
const merged = mergedSchema()

/** The same resolvers on one schema, for graphql-js to execute. Required fields are computed from the id. */
function mergedSchema(): GraphQLSchema {
  const schema = buildSchema(printSchema(engine.schema))
  for (const name of NAMES) {
    for (const type of Object.values(graphSchema(name).getTypeMap())) {
      const target = schema.getType(type.name)
      if (!isObjectType(type) || !isObjectType(target)) continue
      for (const [field, { resolve }] of Object.entries(type.getFields())) {
        const merging = target.getFields()[field]
        if (resolve !== undefined && merging !== undefined) merging.resolve = resolve
      }
    }
  }
  const override = (type: string, field: string, resolve: (parent: { id: string }) => unknown) => {
    const target = schema.getType(type)
    const merging = isObjectType(target) ? target.getFields()[field] : undefined
    if (merging === undefined) throw new Error(`no ${type}.${field}`)
    merging.resolve = resolve
  }
  override('Video', 'cost', ({ id }) => Number(id) * 10)
  override('Video', 'score', ({ id }) => Number(id) * 10 + 1)
  override('Film', 'plays', ({ id }) => id.length * 100)
  override('Song', 'plays', ({ id }) => id.length * 100)
  override('Query', 'topMedia', () => ({ __typename: 'Film', id: 'f7', name: 'Film 7', minutes: 90 }))
  return schema
}

const CONDITIONS = [
  '',
  '',
  '',
  '',
  ' @include(if: $x)',
  ' @skip(if: $x)',
  ' @include(if: $y)',
  ' @skip(if: $y) @include(if: $x)',
  ' @skip(if: true)',
]
const ALIASES = ['', '', '', 'a: ', 'b: ', 'id: ', 'title: ']

/** A selection set of a type, as text. Aliases may make it invalid; invalid ones are filtered out. */
function selections(type: GraphQLNamedType, depth: number): fc.Arbitrary<string> {
  const options: fc.Arbitrary<string>[] = [fc.constantFrom('__typename', 't: __typename')]
  if (isObjectType(type) || isInterfaceType(type)) {
    for (const field of Object.values(type.getFields())) {
      if (field.name === 'topMedia') continue
      if (depth > 0 || isLeafType(getNamedType(field.type))) options.push(fieldText(field, depth), fieldText(field, depth))
    }
  }
  if (depth > 0) {
    const inside = isAbstractType(type) ? engine.schema.getPossibleTypes(type) : isObjectType(type) ? [type] : []
    for (const possible of inside) {
      options.push(
        fc
          .tuple(fc.constantFrom(...CONDITIONS), selections(possible, depth - 1))
          .map(([condition, set]) => `... on ${possible.name}${condition} ${set}`),
      )
    }
    if (type.name === 'Video') options.push(fc.constantFrom(...CONDITIONS).map((condition) => `...V${condition}`))
  }
  return fc.array(fc.oneof(...options), { minLength: 1, maxLength: 4 }).map((texts) => `{ ${texts.join(' ')} }`)
}

function fieldText(field: GraphQLField<unknown, unknown>, depth: number): fc.Arbitrary<string> {
  const type = getNamedType(field.type)
  const args = fc.tuple(
    ...field.args.map((arg) => argumentText(arg.name, arg.type.toString(), isNonNullType(arg.type) && arg.defaultValue === undefined)),
  )
  const set = isLeafType(type) ? fc.constant('') : selections(type, depth - 1)
  return fc.tuple(fc.constantFrom(...ALIASES), args, fc.constantFrom(...CONDITIONS), set).map(([alias, given, condition, inner]) => {
    const texts = given.filter((text) => text !== '')
    return `${alias}${field.name}${texts.length > 0 ? `(${texts.join(', ')})` : ''}${condition} ${inner}`
  })
}

function argumentText(name: string, type: string, needed: boolean): fc.Arbitrary<string> {
  const values = type.startsWith('Int')
    ? ['1', '2', '$n']
    : type.startsWith('ID')
      ? ['"1"', '"2"', '"100"']
      : type === 'Kind'
        ? ['OPEN', 'CLOSED']
        : type === 'String'
          ? ['"kb"', '"mb"']
          : ['{text: "x"}']
  return fc.constantFrom(...(needed ? [] : ['']), ...values.map((value) => `${name}: ${value}`))
}

const FAILING: Record<string, Act> = {
  'Video.likeCount': ({ id }) => {
    if (id === '2') throw new Error('no count')
    return Number(id)
  },
  'Video.viewerProgress': ({ id }) => {
    if (id === '1') throw new Error('no progress')
    return { position: 5, finished: true, subject: { __typename: 'Video', id: '3', title: 'v3', subtitle: null } }
  },
  'Owner.likes': ({ id }) => (id === 'o1' ? new Error('no likes') : 3),
  'Query.topScore': () => 'not a number',
  'Video.likers': () => null,
  'Video.viewerMark': ({ id }) => (id === '3' ? null : 'LIKE'),
}

/**
 * The native planner (0.0.38) cannot plan some valid operations: a field with @requires on an object that the same subgraph returned
 * below an entity (`viewerProgress { subject { cost } }`), or, on types with an interface object, a fragment with a condition inside a
 * fragment of the same type. The engine refuses them, and the test skips them.
 *
 * The generator does not use fields that return an interface object (`topMedia`). With fragments of several types below, the planner
 * omits a field that one of them needs, and the engine can only report the missing field as an error.
 */
const UNPLANNED = 'the planner found no way'

const HEAD = 'query ($x: Boolean!, $y: Boolean!, $n: Int = 2)'
const FRAGMENT = 'fragment V on Video { id likeCount who: owner { likes name } viewerProgress { position subject { likeCount } } }'

test('a generated query gets the answer of graphql-js for one merged schema, with and without failing fields', async () => {
  const query = engine.schema.getQueryType()
  if (query == null) throw new Error('no query type')
  let compared = 0
  let withErrors = 0
  const unplanned: string[] = []
  await fc.assert(
    fc.asyncProperty(selections(query, 4), fc.boolean(), fc.boolean(), fc.subarray(Object.keys(FAILING)), async (set, x, y, failing) => {
      const text = `${HEAD} ${set} ${FRAGMENT}`
      const document = parse(text)
      // Unused variables and fragments are allowed here. Everything else that is invalid is skipped.
      if (validate(merged, document).some(({ message }) => !message.includes('is never used'))) return
      const used = validUse(text)
      const act = Object.fromEntries(failing.map((name) => [name, FAILING[name] as Act]))
      const mine = await ask(engine, used, { x, y }, makeContext({ ...act, ...later(act) }))
      if (mine.errors?.some(({ message }) => message.includes(UNPLANNED)) === true) {
        unplanned.push(used)
        return
      }
      const theirs = await execute({
        schema: merged,
        document: parse(used),
        variableValues: { x, y },
        contextValue: makeContext(act) satisfies GraphContext,
      })
      compared += 1
      if (theirs.errors !== undefined) withErrors += 1
      expect({ used, data: JSON.stringify(mine.data) }).toEqual({ used, data: JSON.stringify(theirs.data) })
      expect({ used, failed: mine.errors !== undefined, errors: mine.errors }).toMatchObject({ used, failed: theirs.errors !== undefined })
      const paths = new Set(mine.errors?.map(({ path }) => JSON.stringify(path)))
      // Where a null has propagated, either side may have stopped before it met every error below. Elsewhere all errors must be present.
      const visible = (theirs.errors ?? []).flatMap(({ path = [] }) => (isBelowNull(mine.data, path) ? [] : [JSON.stringify(path)]))
      expect({ used, paths: [...paths] }).toMatchObject({ used, paths: expect.arrayContaining(visible) as unknown })
    }),
    { numRuns: 1_500, seed: Number(process.env['ENGINE_SEED'] ?? 20_261) },
  )
  expect(unplanned.length).toBeLessThan(compared / 20)
  // A generator of only invalid or trivial queries would prove nothing.
  expect(compared).toBeGreaterThan(500)
  expect(withErrors).toBeGreaterThan(30)
})

function isBelowNull(data: unknown, path: readonly (string | number)[]): boolean {
  let value = data
  for (const key of path.slice(0, -1)) {
    if (value === null || value === undefined) return true
    value = (value as Record<string | number, unknown>)[key]
  }
  return value === null || value === undefined
}

/**
 * The engine gets the same failures as rejections. graphql-js gets them as exceptions: if one list item throws at once, graphql-js
 * leaves the promises of the others without a handler, and their rejections reach the process.
 */
function later(act: Record<string, Act>): Record<string, Act> {
  const entries = Object.entries(act).filter(([name]) => name !== 'Video.viewerProgress')
  return Object.fromEntries(entries.map(([name, resolve]) => [name, async (...given: Parameters<Act>) => resolve(...given)]))
}

/** Uses every variable and fragment, so that the text is valid. */
function validUse(text: string): string {
  const end = text.lastIndexOf('fragment V on')
  const operation = text.slice(0, end).trimEnd()
  const uses = 'zx: numbers @include(if: $x) zy: numbers @include(if: $y) zn: feed(first: $n) @skip(if: true) { ...V }'
  return `${operation.slice(0, -1)} ${uses} } ${text.slice(end)}`
}
