/**
 * The planner makes plans from a supergraph. Planning is native (Hive Router's planner) and takes about 0.2 ms; the engine plans an
 * operation once. The planner also gives the API schema that clients see, so that both agree on inaccessible parts.
 */
import { QueryPlanner } from '@graphql-hive/router-query-planner'
import type { PlanNode } from '@graphql-hive/router-query-planner'
import {
  GraphQLError,
  Kind,
  buildASTSchema,
  isInterfaceType,
  isObjectType,
  parse,
  specifiedDirectives,
  specifiedScalarTypes,
} from 'graphql'
import type { DefinitionNode, DocumentNode, GraphQLSchema } from 'graphql'
import { TidemarkError, type ErrorCode } from '../../core/errors.ts'
import { CACHE_DIRECTIVE } from '../cache/cache-policy.ts'
import { repairPlan, subgraphTypes } from './plan-repairs.ts'
import { decodeTexts, encodeTexts, plannerText } from './planner-text.ts'
import { planSharedRoots, sharedRoots, type PlanDocument, type SharedRoots } from './shared-roots.ts'

/** The object types that satisfy a type condition, including the named type and inaccessible types. */
export type PossibleTypes = (name: string) => ReadonlySet<string>

export type Planner = {
  readonly schema: GraphQLSchema
  readonly possible: PossibleTypes
  /** The names of all API fields with arguments. */
  readonly fieldsWithArguments: ReadonlySet<string>
  /** The names of the subgraphs in the supergraph. */
  readonly subgraphs: readonly string[]
  /** Plans the only operation of the document. Undefined if no fetch is needed. Throws a GraphQLError. */
  plan(document: DocumentNode): PlanNode | undefined
}

export function makePlanner(supergraphSdl: string): Planner {
  const supergraph = readSupergraph(supergraphSdl)
  const native = openNative(supergraph)
  const schema = apiSchema(native.consumerSchema)
  const types = subgraphTypes(supergraph)
  const shared = sharedRoots(supergraph)
  const whole = planBy(native)
  const owned = new Map<string, PlanDocument>()
  const plannerOf = ({ ownedBy }: SharedRoots, subgraph: string): PlanDocument => {
    const planner = owned.get(subgraph) ?? planBy(openNative(ownedBy(subgraph)))
    owned.set(subgraph, planner)
    return planner
  }
  return {
    schema,
    possible: possibleTypes(supergraph),
    fieldsWithArguments: namesWithArguments(schema),
    subgraphs: subgraphNames(supergraph),
    plan(document) {
      try {
        const plan =
          shared === undefined ? whole(document) : planSharedRoots(document, whole, shared, (subgraph) => plannerOf(shared, subgraph))
        return plan === undefined ? undefined : repairPlan(plan, types)
      } catch (cause) {
        throw planError(cause as Error)
      }
    },
  }
}

/** The errors of the planner have no codes. Its parser accepts about 48 levels of selections and literals together. */
function planError(cause: Error): GraphQLError {
  const [code, message]: [ErrorCode, string] = cause.message.startsWith('Failed to parse query')
    ? [
        'OPERATION_TOO_LARGE',
        'The operation nests its selections and literals too deeply: use fewer levels, or send literals as variables.',
      ]
    : ['INTERNAL', 'The operation is valid, but the planner found no way to answer it.']
  return new GraphQLError(message, { extensions: { code }, originalError: cause })
}

function planBy(native: QueryPlanner): PlanDocument {
  return (document) => native.plan(plannerText(document), undefined, new Set(), 0).node ?? undefined
}

function readSupergraph(sdl: string): DocumentNode {
  try {
    return parse(sdl, { noLocation: true })
  } catch (cause) {
    throw unreadable(cause)
  }
}

function openNative(supergraph: DocumentNode): QueryPlanner {
  try {
    return new QueryPlanner(plannerText(encodeTexts(supergraph)))
  } catch (cause) {
    throw unreadable(cause)
  }
}

function unreadable(cause: unknown): TidemarkError {
  return new TidemarkError('CONFIG_INVALID', `the supergraph cannot be read (${(cause as Error).message}): compose it again`, { cause })
}

// The gateway accepts @defer, and answers deferred fragments with the rest, in one part.
const DEFER = 'directive @defer(if: Boolean! = true, label: String) on FRAGMENT_SPREAD | INLINE_FRAGMENT'

const SPECIFIED = new Set<string>([...specifiedScalarTypes, ...specifiedDirectives].map(({ name }) => name))

/** The planner's consumer schema, without the definitions of graphql-js and without the machinery of the supergraph. */
function apiSchema(consumerSdl: string): GraphQLSchema {
  const definitions = [...decodeTexts(parse(consumerSdl, { noLocation: true })).definitions, ...parse(DEFER).definitions]
    .filter(isApiDefinition)
    .map(withoutMetaFields)
  return buildASTSchema({ kind: Kind.DOCUMENT, definitions }, { assumeValidSDL: true })
}

function isApiDefinition(definition: DefinitionNode): boolean {
  const name = 'name' in definition ? (definition.name?.value ?? '') : ''
  // Only the gateway reads cache hints of subgraphs; clients do not see them.
  if (definition.kind === Kind.DIRECTIVE_DEFINITION && name === CACHE_DIRECTIVE) return false
  return !name.startsWith('__') && !/^(?:join|link|core)__/.test(name) && !SPECIFIED.has(name)
}

function withoutMetaFields(definition: DefinitionNode): DefinitionNode {
  if (definition.kind !== Kind.OBJECT_TYPE_DEFINITION) return definition
  return { ...definition, fields: (definition.fields ?? []).filter(({ name }) => !name.value.startsWith('__')) }
}

function namesWithArguments(schema: GraphQLSchema): Set<string> {
  const types = Object.values(schema.getTypeMap()).filter((type) => isObjectType(type) || isInterfaceType(type))
  const fields = types.flatMap((type) => Object.values(type.getFields()))
  return new Set(fields.filter(({ args }) => args.length > 0).map(({ name }) => name))
}

function possibleTypes(supergraph: DocumentNode): PossibleTypes {
  const possible = new Map<string, Set<string>>()
  const add = (name: string, type: string): void => {
    possible.set(name, (possible.get(name) ?? new Set([name])).add(type))
  }
  for (const definition of supergraph.definitions) {
    if (definition.kind === Kind.OBJECT_TYPE_DEFINITION)
      for (const { name } of definition.interfaces ?? []) add(name.value, definition.name.value)
    if (definition.kind === Kind.UNION_TYPE_DEFINITION)
      for (const { name } of definition.types ?? []) add(definition.name.value, name.value)
  }
  return (name) => {
    if (!possible.has(name)) possible.set(name, new Set([name]))
    return possible.get(name) ?? new Set([name])
  }
}

/** `enum join__Graph { HISTORY @join__graph(name: "history", url: "…") }` */
function subgraphNames({ definitions }: DocumentNode): string[] {
  const graphs = definitions.find((definition) => definition.kind === Kind.ENUM_TYPE_DEFINITION && definition.name.value === 'join__Graph')
  const values = graphs?.kind === Kind.ENUM_TYPE_DEFINITION ? (graphs.values ?? []) : []
  return values.flatMap((value) => {
    const name = value.directives?.[0]?.arguments?.find((argument) => argument.name.value === 'name')?.value
    return name?.kind === Kind.STRING ? [name.value] : []
  })
}
