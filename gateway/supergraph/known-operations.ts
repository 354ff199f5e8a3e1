/**
 * Reads the known operations of clients for `tidemark check`: a manifest in Apollo's or Relay's format, a GraphQL file, or a folder of
 * them, recursively. Operations may use fragments of other `.graphql` files.
 */
import { readFileSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { Kind, parse, print, visit, type DefinitionNode, type FragmentDefinitionNode, type OperationDefinitionNode } from 'graphql'
import { configError } from './config-error.ts'

export type KnownOperation = {
  /** The operation's name, or the start of its id. */
  readonly name: string
  readonly text: string
  /** The file with the operation. */
  readonly file: string
}

/** Sorted by name. Throws CONFIG_INVALID for the first file that cannot be read. */
export function readKnownOperations(path: string): KnownOperation[] {
  const files = filesOf(path)
  if (files.length === 0) throw configError(`${path} has no operations: name a manifest, or a folder with .graphql or .json files`)
  const documents = files.filter((file) => !file.endsWith('.json'))
  const manifests = files.filter((file) => file.endsWith('.json'))
  return [...readDocuments(documents), ...manifests.flatMap(readManifest)].sort((a, b) => (a.name < b.name ? -1 : 1))
}

function filesOf(path: string): string[] {
  const stat = statSync(path, { throwIfNoEntry: false })
  if (stat === undefined) throw configError(`${path} does not exist: correct --operations`)
  if (stat.isFile()) return [path]
  return readdirSync(path, { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.(?:graphql|gql|json)$/.test(name) && !name.split(/[\\/]/).includes('node_modules'))
    .sort()
    .map((name) => join(path, name))
}

function readDocuments(files: readonly string[]): KnownOperation[] {
  const definitions = files.flatMap((file) => parseFile(file).map((definition) => ({ file, definition })))
  const fragments = new Map<string, FragmentDefinitionNode>()
  for (const { definition } of definitions)
    if (definition.kind === Kind.FRAGMENT_DEFINITION) fragments.set(definition.name.value, definition)
  return definitions.flatMap(({ file, definition }) =>
    definition.kind === Kind.OPERATION_DEFINITION
      ? [{ name: definition.name?.value ?? `(unnamed, ${file})`, text: withFragments(definition, fragments), file }]
      : [],
  )
}

function parseFile(file: string): readonly DefinitionNode[] {
  try {
    return parse(readFileSync(file, 'utf8')).definitions
  } catch (cause) {
    throw configError(`${file} is not GraphQL: ${(cause as Error).message}`, cause)
  }
}

function withFragments(operation: OperationDefinitionNode, fragments: ReadonlyMap<string, FragmentDefinitionNode>): string {
  const needed = new Set<string>()
  const collect = (node: DefinitionNode): void => {
    visit(node, {
      FragmentSpread({ name }) {
        const fragment = fragments.get(name.value)
        if (fragment === undefined || needed.has(name.value)) return
        needed.add(name.value)
        collect(fragment)
      },
    })
  }
  collect(operation)
  return print({ kind: Kind.DOCUMENT, definitions: [operation, ...[...needed].flatMap((name) => fragments.get(name) ?? [])] })
}

function readManifest(file: string): KnownOperation[] {
  let value: unknown
  try {
    value = JSON.parse(readFileSync(file, 'utf8'))
  } catch (cause) {
    throw configError(`${file} is not JSON: ${(cause as Error).message}`, cause)
  }
  const { operations } = (value ?? {}) as { operations?: unknown }
  if (Array.isArray(operations)) return operations.map((operation, index) => fromApollo(file, operation, index))
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
    return Object.entries(value).map(([id, text]) => fromRelay(file, id, text))
  }
  throw configError(`${file} is not a manifest: use Apollo's {"operations": […]} or Relay's {id: text}`)
}

function fromApollo(file: string, operation: unknown, index: number): KnownOperation {
  const { id, name, body } = (operation ?? {}) as { id?: unknown; name?: unknown; body?: unknown }
  if (typeof body !== 'string') throw configError(`${file}: operations[${index}] has no body: every operation needs its text`)
  return { name: typeof name === 'string' && name !== '' ? name : String(id).slice(0, 12), text: body, file }
}

function fromRelay(file: string, id: string, text: unknown): KnownOperation {
  if (typeof text !== 'string') throw configError(`${file}: "${id}" is not the text of an operation`)
  return { name: /\b(?:query|mutation|subscription)\s+(\w+)/.exec(text)?.[1] ?? id.slice(0, 12), text, file }
}
