/** The errors of a lookup. Clients of Apollo's protocol get the fixed messages of that protocol. */
import { TidemarkError } from '../../core/errors.ts'
import { isSha256 } from './manifest.ts'
import type { RequestId } from './request-id.ts'

export function notFound({ id, automatic }: RequestId): TidemarkError {
  const byText = isSha256(id) ? 'send it once with its text as "query"' : 'send the text as "query" instead'
  const sentence = `no operation has the id ${id}: ${byText}, or add the operation to a manifest by "tidemark persist"`
  return new TidemarkError('PERSISTED_QUERY_NOT_FOUND', automatic ? 'PersistedQueryNotFound' : sentence)
}

export function notSupported({ automatic }: RequestId): TidemarkError {
  const sentence = 'persisted operations are off: send the text of the operation as "query"'
  return new TidemarkError('PERSISTED_QUERY_NOT_SUPPORTED', automatic ? 'PersistedQueryNotSupported' : sentence)
}

export function notInList(subject: string): TidemarkError {
  return new TidemarkError(
    'PERSISTED_QUERY_NOT_IN_LIST',
    `${subject}, and this client may run only operations of manifests: add the operation by "tidemark persist" to a file of persisted.manifests`,
  )
}

export function hashMismatch({ id }: RequestId): TidemarkError {
  return new TidemarkError(
    'PERSISTED_QUERY_HASH_MISMATCH',
    `the text does not match the id ${id}: send the id of this text, or only one of the two`,
  )
}

export function notRegistrable({ id }: RequestId): TidemarkError {
  return new TidemarkError('BAD_REQUEST', `the id ${id} is not a SHA-256 and cannot be registered: send the text without an id`)
}
