/**
 * The cost of introspection: a point per ten values of the answer, as for other values. They are counted on the schema itself, with the
 * resolvers of graphql-js. An estimate is not enough: if many fields return a type with many fields, the number of values multiplies.
 *
 * The standard query must pass on every graph, and on a large one it has a million values. An operation of at most twice its values
 * therefore costs `POINTS_MAX` at most. A larger one is never allowed, so the count ends there.
 */
import {
  GraphQLString,
  Kind,
  SchemaMetaFieldDef,
  TypeMetaFieldDef,
  getIntrospectionQuery,
  getNamedType,
  isObjectType,
  parse,
  valueFromASTUntyped,
} from 'graphql'
import type {
  FieldNode,
  GraphQLField,
  GraphQLObjectType,
  GraphQLResolveInfo,
  GraphQLSchema,
  OperationDefinitionNode,
  SelectionSetNode,
} from 'graphql'
import { fragmentsOf, type Fragments } from '../operation/plan-document.ts'

type Variables = Readonly<Record<string, unknown>>

/** Half of the default of `server.operationCostMax`: a client may select other fields as well. */
const POINTS_MAX = 5_000
const VALUES_PER_POINT = 10
/** Some clients add `__typename` to each object. */
const STANDARD_QUERIES_MAX = 2
/** A value of text counts once more per this many characters: descriptions can be long. */
const CHARACTERS_PER_VALUE = 100

/** 0 for an operation without introspection. Infinity: it introspects too much. */
export function compileIntrospectionCost(
  schema: GraphQLSchema,
  { selectionSet }: OperationDefinitionNode,
  fragments: Fragments,
): number | ((variables: Variables) => number) {
  const roots = rootsOf(selectionSet, fragments)
  if (roots.length === 0) return 0
  const valuesMax = STANDARD_QUERIES_MAX * standardValues(schema)
  const costOf = (variables: Variables): number => {
    const values = countValues(schema, fragments, roots, variables, valuesMax)
    return values > valuesMax ? Infinity : Math.min(values / VALUES_PER_POINT, POINTS_MAX)
  }
  const isConstant = roots.every((root) => root.arguments?.every(({ value }) => value.kind !== Kind.VARIABLE) ?? true)
  return isConstant ? costOf({}) : costOf
}

function rootsOf(set: SelectionSetNode, fragments: Fragments): FieldNode[] {
  return set.selections.flatMap((selection) => {
    if (selection.kind === Kind.FIELD) return ROOTS.has(selection.name.value) ? [selection] : []
    const inner = selection.kind === Kind.INLINE_FRAGMENT ? selection : fragments.get(selection.name.value)
    return inner === undefined ? [] : rootsOf(inner.selectionSet, fragments)
  })
}

const ROOTS = new Map<string, GraphQLField<unknown, unknown>>([SchemaMetaFieldDef, TypeMetaFieldDef].map((field) => [field.name, field]))

const standard = new WeakMap<GraphQLSchema, number>()

/** The values of the answer to the standard query. */
function standardValues(schema: GraphQLSchema): number {
  const known = standard.get(schema)
  if (known !== undefined) return known
  const document = parse(getIntrospectionQuery(STANDARD_OPTIONS))
  const fragments = fragmentsOf(document)
  const roots = document.definitions.flatMap((each) =>
    each.kind === Kind.OPERATION_DEFINITION ? rootsOf(each.selectionSet, fragments) : [],
  )
  const values = countValues(schema, fragments, roots, {}, Infinity)
  standard.set(schema, values)
  return values
}

const STANDARD_OPTIONS = {
  specifiedByUrl: true,
  directiveIsRepeatable: true,
  schemaDescription: true,
  inputValueDeprecation: true,
  oneOf: true,
}

/** Deprecated parts are counted as well. The count ends above `valuesMax`. */
function countValues(
  schema: GraphQLSchema,
  fragments: Fragments,
  roots: readonly FieldNode[],
  variables: Variables,
  valuesMax: number,
): number {
  const info = { schema } as GraphQLResolveInfo
  let values = 0
  for (const root of roots) {
    const args = Object.fromEntries((root.arguments ?? []).map(({ name, value }) => [name.value, valueFromASTUntyped(value, variables)]))
    addField(ROOTS.get(root.name.value), undefined, root, args)
  }
  return values

  function addSelection(type: GraphQLObjectType, source: unknown, { selections }: SelectionSetNode): void {
    for (const selection of selections) {
      if (values > valuesMax) return
      if (selection.kind === Kind.FIELD) addField(type.getFields()[selection.name.value], source, selection, WITH_DEPRECATED)
      else {
        const inner = selection.kind === Kind.INLINE_FRAGMENT ? selection : fragments.get(selection.name.value)
        if (inner !== undefined) addSelection(type, source, inner.selectionSet)
      }
    }
  }

  /** `field` is undefined for `__typename`. */
  function addField(field: GraphQLField<unknown, unknown> | undefined, source: unknown, node: FieldNode, args: Variables): void {
    values += 1
    const type = getNamedType(field?.type)
    const isText = type === GraphQLString && field?.name !== 'defaultValue'
    // The resolver of a default value prints it, and may throw.
    if (!isText && !isObjectType(type)) return
    const value: unknown = field?.resolve?.(source, args, undefined, info)
    if (typeof value === 'string') values += Math.floor(value.length / CHARACTERS_PER_VALUE)
    if (!isObjectType(type) || node.selectionSet === undefined) return
    for (const each of Array.isArray(value) ? (value as unknown[]) : [value]) {
      if (each === undefined || each === null) continue
      values += 1
      addSelection(type, each, node.selectionSet)
    }
  }
}

const WITH_DEPRECATED = Object.freeze({ includeDeprecated: true })
