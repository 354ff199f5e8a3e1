/**
 * The operations of all manifests, planned and compiled, by id and by text. They are not in the memory of clients, so that no flood of
 * other operations evicts them. A set is immutable: the next set replaces it.
 */
import type { Engine } from '../operation/engine.ts'
import type { Prepared } from '../operation/prepared-operation.ts'
import { withCause } from '../operation/operations.ts'
import { conflictOf, scopedKey, type Manifest, type ManifestOperation } from './manifest.ts'

export type PinningEngine = Pick<Engine, 'pin'>

export type PinnedText = {
  readonly body: string
  /** By name. The only operation of a text is also under undefined. */
  readonly prepared: ReadonlyMap<string | undefined, Prepared>
}

export type PinnedSet = {
  readonly operations: readonly ManifestOperation[]
  /** Some operations belong to one client only, so that answers depend on the client. */
  readonly byClient: boolean
  byId(id: string, client: string | undefined): PinnedText | undefined
  byText(text: string, client: string | undefined): PinnedText | undefined
}

export type OperationFailure = { readonly operation: ManifestOperation; readonly message: string }

/** The operations by key, and one sentence for each id that two manifests give to different texts. */
export function mergeOperations(manifests: Iterable<Manifest>): { operations: ManifestOperation[]; mistakes: string[] } {
  const operations = new Map<string, ManifestOperation>()
  const mistakes: string[] = []
  for (const operation of [...manifests].flatMap((manifest) => manifest.operations)) {
    const key = scopedKey(operation.id, operation.client)
    const twin = operations.get(key)
    if (twin === undefined) operations.set(key, operation)
    else if (twin.body !== operation.body) mistakes.push(`${twin.file} and ${operation.file}: ${conflictOf(operation)}`)
  }
  return { operations: [...operations.values()], mistakes }
}

/** Prepares the operations of one text. A failed one stays in the set with its errors, and callers get these errors. */
export function pinText(engine: PinningEngine, { body, names }: ManifestOperation): PinnedText {
  const prepared = new Map<string | undefined, Prepared>()
  for (const name of names) {
    const outcome = engine.pin(body, names.length === 1 ? undefined : name)
    prepared.set(name, outcome)
    if (names.length === 1) prepared.set(undefined, outcome)
  }
  return { body, prepared }
}

export function failuresOf(operation: ManifestOperation, { prepared }: PinnedText): OperationFailure[] {
  const errors = [...new Set(prepared.values())].flatMap((outcome) => ('errors' in outcome ? outcome.errors : []))
  return errors.length === 0 ? [] : [{ operation, message: errors.map(withCause).join('; ') }]
}

/** `pinned` is keyed by text. */
export function makePinnedSet(operations: readonly ManifestOperation[], pinned: ReadonlyMap<string, PinnedText>): PinnedSet {
  const byKey = new Map<string, PinnedText>()
  const clientsOf = new Map<string, Set<string | undefined>>()
  for (const { id, client, body } of operations) {
    const entry = pinned.get(body)
    if (entry === undefined) continue
    byKey.set(scopedKey(id, client), entry)
    clientsOf.set(body, (clientsOf.get(body) ?? new Set()).add(client))
  }
  const byClient = operations.some(({ client }) => client !== undefined)
  return {
    operations,
    byClient,
    byId: (id, client) => (byClient && client !== undefined ? byKey.get(scopedKey(id, client)) : undefined) ?? byKey.get(id),
    byText(text, client) {
      const clients = clientsOf.get(text)
      return clients?.has(undefined) || clients?.has(client) ? pinned.get(text) : undefined
    },
  }
}
