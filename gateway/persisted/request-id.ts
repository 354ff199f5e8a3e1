/**
 * The id of an operation in a request. It may be in `documentId` (the draft of GraphQL over HTTP), where `doc_id` (Relay) and the path
 * of /graphql/p/:id also arrive, or in `extensions.persistedQuery.sha256Hash` (Apollo). A request may have both if they agree.
 */
import { TidemarkError } from '../../core/errors.ts'
import { isId, isSha256, plainId } from './manifest.ts'
import type { OperationRequest } from '../request/operation-request.ts'

export type RequestId = {
  readonly id: string
  /** The client speaks Apollo's protocol, in which some messages are fixed. */
  readonly automatic: boolean
}

/** Undefined without an id. Throws BAD_REQUEST for an invalid one. */
export function requestIdOf({ documentId, extensions }: Pick<OperationRequest, 'documentId' | 'extensions'>): RequestId | undefined {
  const persistedQuery = extensions?.['persistedQuery']
  const hash = persistedQuery === undefined || persistedQuery === null ? undefined : hashOf(persistedQuery)
  if (documentId === undefined) return hash === undefined ? undefined : { id: hash, automatic: true }
  if (!isId(documentId)) throw bad(`documentId is not an id: send 1 to 200 printable characters without a space`)
  const id = plainId(documentId)
  if (id.startsWith('sha256:')) throw bad(`documentId is ${documentId}: "sha256:" must be followed by 64 hexadecimal digits`)
  if (hash !== undefined && hash !== id) throw bad('documentId and extensions.persistedQuery name different operations: send one of them')
  return { id, automatic: false }
}

function hashOf(persistedQuery: unknown): string {
  const { version, sha256Hash } = Object(persistedQuery) as { version?: unknown; sha256Hash?: unknown }
  if (version === undefined) throw bad('extensions.persistedQuery has no version: send {"version": 1, "sha256Hash": "…"}')
  if (version !== 1) throw bad(`extensions.persistedQuery has version ${JSON.stringify(version)}: only version 1 is supported`)
  const id = typeof sha256Hash === 'string' ? plainId(sha256Hash) : ''
  if (!isSha256(id)) throw bad('extensions.persistedQuery.sha256Hash is not 64 hexadecimal digits: send the SHA-256 of the text')
  return id
}

function bad(message: string): TidemarkError {
  return new TidemarkError('BAD_REQUEST', message)
}
