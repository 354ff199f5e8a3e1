/**
 * A manifest holds operations that are released together, each under an id. Two formats are read:
 *
 *   Apollo  {"format": "apollo-persisted-query-manifest", "version": 1, "operations": [{id, name, type, body, clientName?}]}
 *   Relay   {"<id>": "<text>", …}
 *
 * An id of 64 hexadecimal digits, with or without "sha256:" before it, must be the SHA-256 of its text. Other ids are taken unchanged.
 * All mistakes are reported together, one sentence each. A manifest with a mistake is not used in part: its operations belong together.
 */
import { createHash } from 'node:crypto'
import { Kind, parse } from 'graphql'
import type { OperationDefinitionNode } from 'graphql'
import { isRecord } from '../execution/run.ts'

export const APOLLO_FORMAT = 'apollo-persisted-query-manifest'

export type ManifestOperation = {
  /** Without "sha256:". */
  readonly id: string
  readonly body: string
  /** The names of the text's operations, undefined for an unnamed one. Nearly always one. */
  readonly names: readonly (string | undefined)[]
  /** The only client that may call it by this id. Undefined: every client. */
  readonly client: string | undefined
  readonly file: string
}

export type Manifest = { readonly operations: readonly ManifestOperation[]; readonly mistakes: readonly string[] }

const ID_LENGTH_MAX = 200
const MISTAKES_MAX = 20

export function readManifest(text: string, file: string, tokensMax: number): Manifest {
  let data: unknown
  try {
    data = JSON.parse(text)
  } catch (error) {
    return { operations: [], mistakes: [`${file} is not JSON: ${(error as Error).message}`] }
  }
  const mistakes: string[] = []
  const operations: ManifestOperation[] = []
  const known = new Map<string, ManifestOperation>()
  for (const entry of entriesOf(data, file, mistakes)) {
    const operation = readEntry(entry, file, tokensMax, mistakes)
    if (operation === undefined) continue
    const twin = known.get(scopedKey(operation.id, operation.client))
    if (twin !== undefined && twin.body !== operation.body) mistakes.push(`${file}: ${conflictOf(operation)}`)
    if (twin !== undefined) continue
    known.set(scopedKey(operation.id, operation.client), operation)
    operations.push(operation)
  }
  if (mistakes.length > MISTAKES_MAX)
    mistakes.splice(MISTAKES_MAX, Infinity, `${file}: and ${mistakes.length - MISTAKES_MAX} more mistakes`)
  return { operations, mistakes }
}

/** The key of an operation. Two clients may give the same id to different texts, unless it is a SHA-256. */
export function scopedKey(id: string, client: string | undefined): string {
  return client === undefined ? id : `${client}\n${id}`
}

export function conflictOf({ id, client }: Pick<ManifestOperation, 'id' | 'client'>): string {
  const owner = client === undefined ? '' : ` of the client ${client}`
  return `the id ${id}${owner} occurs twice with different texts: give each text its own id, or set clientName`
}

export function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

const PREFIX = 'sha256:'

/** The id in one form. A SHA-256 may have been written with a prefix or in upper case. */
export function plainId(id: string): string {
  const bare = id.startsWith(PREFIX) ? id.slice(PREFIX.length) : id
  return /^[0-9a-fA-F]{64}$/.test(bare) ? bare.toLowerCase() : id
}

export function isId(id: string): boolean {
  return id.length <= ID_LENGTH_MAX && /^[!-~]+$/.test(id)
}

export function isSha256(id: string): boolean {
  return /^[0-9a-f]{64}$/.test(id)
}

type Entry = {
  readonly place: string
  readonly id: unknown
  readonly body: unknown
  readonly name?: unknown
  readonly type?: unknown
  readonly clientName?: unknown
}

function entriesOf(data: unknown, file: string, mistakes: string[]): Entry[] {
  if (!isRecord(data)) {
    mistakes.push(`${file} is not a JSON object: use Apollo's format ({"format": "${APOLLO_FORMAT}", …}) or Relay's ({"id": "text"})`)
    return []
  }
  if (!('format' in data) && !('operations' in data)) {
    return Object.entries(data).map(([id, body]) => ({ place: `${file}: "${id.slice(0, 80)}"`, id, body }))
  }
  const { format, version, operations } = data
  if (format !== APOLLO_FORMAT || version !== 1) {
    mistakes.push(
      `${file} has format ${JSON.stringify(format)} and version ${JSON.stringify(version)}: only format "${APOLLO_FORMAT}" with version 1 is supported`,
    )
    return []
  }
  if (!Array.isArray(operations)) {
    mistakes.push(`${file}: "operations" is not a list: write [{"id", "name", "type", "body"}]`)
    return []
  }
  return operations.flatMap((operation: unknown, index): Entry[] => {
    const place = `${file}: operations[${index}]`
    if (isRecord(operation)) return [{ place, id: operation['id'], body: operation['body'], ...operation }]
    mistakes.push(`${place} is not an object: write {"id", "name", "type", "body"}`)
    return []
  })
}

function readEntry(entry: Entry, file: string, tokensMax: number, mistakes: string[]): ManifestOperation | undefined {
  const { place, id, body, name, type, clientName } = entry
  const wrong = (sentence: string): undefined => void mistakes.push(`${place} ${sentence}`)
  if (typeof id !== 'string' || !isId(id)) return wrong(`has no id of 1 to ${ID_LENGTH_MAX} printable ASCII characters without a space`)
  if (typeof body !== 'string') return wrong('has no text: give the operation as a string')
  if (clientName !== undefined && clientName !== null && typeof clientName !== 'string')
    return wrong('has a clientName that is not a string')
  const plain = plainId(id)
  if (plain.startsWith(PREFIX)) return wrong(`has the id ${id}: "sha256:" must be followed by 64 hexadecimal digits`)
  if (isSha256(plain) && sha256(body) !== plain) {
    return wrong(`has an id that looks like a SHA-256, but the SHA-256 of its text is ${sha256(body)}: generate the manifest again`)
  }
  let found: OperationDefinitionNode[]
  try {
    const { definitions } = parse(body, { maxTokens: tokensMax, noLocation: true })
    found = definitions.filter((definition) => definition.kind === Kind.OPERATION_DEFINITION)
  } catch (error) {
    return wrong(`(id ${id}) is not GraphQL: ${(error as Error).message}`)
  }
  if (found.length === 0) return wrong(`(id ${id}) has no operation`)
  const names = found.map((operation) => operation.name?.value)
  const named = typeof name === 'string' && name !== '' ? found.find((operation) => operation.name?.value === name) : found[0]
  if (named === undefined)
    return wrong(`(id ${id}) has the name ${String(name)}, but its text has ${names.join(', ')}: correct one of them`)
  if (typeof type === 'string' && type !== named.operation) return wrong(`(id ${id}) has the type ${type}, but is a ${named.operation}`)
  return { id: plain, body, names, client: typeof clientName === 'string' ? clientName : undefined, file }
}
