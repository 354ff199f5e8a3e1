/**
 * Builds a manifest from `.graphql` files. Operations have names that are unique over all files, and a fragment may be in any file.
 * Each text is one operation with the fragments that it needs, sorted by name and printed in one format. The same files therefore
 * give the same bytes in any order of reading, so a manifest can be compared and reviewed.
 */
import {
  GraphQLError,
  Kind,
  KnownFragmentNamesRule,
  NoFragmentCyclesRule,
  NoUndefinedVariablesRule,
  NoUnusedVariablesRule,
  Source,
  UniqueArgumentNamesRule,
  UniqueVariableNamesRule,
  buildSchema,
  parse,
  print,
  specifiedRules,
  validate,
  visit,
  NoUnusedFragmentsRule,
} from 'graphql'
import type { ASTNode, FragmentDefinitionNode, GraphQLSchema, OperationDefinitionNode } from 'graphql'
import { APOLLO_FORMAT, sha256 } from './manifest.ts'

export type SourceFile = { readonly name: string; readonly text: string }
export type BuiltOperation = { readonly id: string; readonly name: string; readonly type: string; readonly body: string }
export type BuiltManifest = { readonly operations: readonly BuiltOperation[]; readonly mistakes: readonly string[] }

/** Without a schema only the rules that need none are checked. `mistakes` has one sentence each, with file and line. */
export function buildManifest(files: readonly SourceFile[], schema: GraphQLSchema | undefined): BuiltManifest {
  const operations = new Map<string, OperationDefinitionNode>()
  const fragments = new Map<string, FragmentDefinitionNode>()
  const mistakes: string[] = []
  for (const { name, text } of files.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
    try {
      for (const definition of parse(new Source(text, name)).definitions) {
        if (definition.kind === Kind.FRAGMENT_DEFINITION) addNamed(fragments, definition, 'fragment', mistakes)
        else if (definition.kind === Kind.OPERATION_DEFINITION) addNamed(operations, definition, 'operation', mistakes)
        else mistakes.push(`${placeOf(definition)} is a schema definition: only operations and fragments are allowed`)
      }
    } catch (error) {
      if (!(error instanceof GraphQLError)) throw error
      mistakes.push(sentenceOf(error))
    }
  }
  const documents = [...operations.values()].map((operation) => ({ operation, text: textOf(operation, fragments) }))
  if (mistakes.length === 0) mistakes.push(...check(operations, fragments, schema))
  const built = documents.map(({ operation, text }) => {
    return { id: sha256(text), name: operation.name?.value ?? '', type: operation.operation, body: text }
  })
  return { operations: built.toSorted((a, b) => (a.name < b.name ? -1 : 1)), mistakes }
}

/** The text of the manifest, in Apollo's or Relay's format. */
export function manifestText(operations: readonly BuiltOperation[], format: 'apollo' | 'relay', client: string | undefined): string {
  const data =
    format === 'relay'
      ? Object.fromEntries(operations.map(({ id, body }) => [id, body]))
      : {
          format: APOLLO_FORMAT,
          version: 1,
          operations: operations.map((operation) => (client === undefined ? operation : { ...operation, clientName: client })),
        }
  return `${JSON.stringify(data, undefined, 2)}\n`
}

function addNamed<Node extends OperationDefinitionNode | FragmentDefinitionNode>(
  known: Map<string, Node>,
  node: Node,
  kind: string,
  mistakes: string[],
): void {
  const name = node.name?.value
  if (name === undefined)
    return void mistakes.push(`${placeOf(node)}: the operation has no name: give it one, because metrics and clients use it`)
  const twin = known.get(name)
  if (twin === undefined) known.set(name, node)
  else mistakes.push(`${placeOf(node)}: the ${kind} ${name} is also in ${placeOf(twin)}: give one of them another name`)
}

function textOf(operation: OperationDefinitionNode, fragments: ReadonlyMap<string, FragmentDefinitionNode>): string {
  const needed = new Map<string, FragmentDefinitionNode>()
  const collect = (node: ASTNode): void => {
    visit(node, {
      FragmentSpread({ name: { value } }) {
        const fragment = fragments.get(value)
        if (fragment === undefined || needed.has(value)) return
        needed.set(value, fragment)
        collect(fragment)
      },
    })
  }
  collect(operation)
  const sorted = [...needed].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, fragment]) => fragment)
  return print({ kind: Kind.DOCUMENT, definitions: [operation, ...sorted] })
}

const NO_SCHEMA = buildSchema('type Query { none: Boolean }')
const RULES_WITHOUT_SCHEMA = [
  ...[KnownFragmentNamesRule, NoFragmentCyclesRule, NoUndefinedVariablesRule],
  ...[NoUnusedVariablesRule, UniqueArgumentNamesRule, UniqueVariableNamesRule],
]
/** An unused fragment is in no operation's text. */
const RULES = specifiedRules.filter((rule) => rule !== NoUnusedFragmentsRule)

/** Validates all files as one document. Each place is then that of its file, and each mistake in a fragment is reported once. */
function check(
  operations: ReadonlyMap<string, OperationDefinitionNode>,
  fragments: ReadonlyMap<string, FragmentDefinitionNode>,
  schema: GraphQLSchema | undefined,
): string[] {
  const document = { kind: Kind.DOCUMENT, definitions: [...operations.values(), ...fragments.values()] } as const
  const rules = schema === undefined ? RULES_WITHOUT_SCHEMA : RULES
  return validate(schema ?? NO_SCHEMA, document, rules).map(sentenceOf)
}

function sentenceOf({ message, nodes, source, locations }: GraphQLError): string {
  const [node] = nodes ?? []
  if (node?.loc !== undefined) return `${placeOf(node)}: ${message}`
  const [location] = locations ?? []
  return `${source?.name ?? 'the files'}:${location?.line ?? 1}:${location?.column ?? 1}: ${message}`
}

function placeOf({ loc }: ASTNode): string {
  return loc === undefined ? 'the files' : `${loc.source.name}:${loc.startToken.line}:${loc.startToken.column}`
}
