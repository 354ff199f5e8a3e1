/** Errors on their way out of subgraphs: every one gets a code, and keeps what was thrown for the log of the front. */
import { GraphQLError } from 'graphql'
import { TidemarkError, isTidemarkError } from '../../core/errors.ts'
import { RemoteError } from '../request/remote-error.ts'
import type { DataPath } from './run.ts'
import type { FetchError } from '../transports/transport.ts'

/** A fetch that gave no answer at all, as one error. */
export function unavailable(subgraph: string, thrown: unknown): FetchError {
  const error = thrown instanceof Error ? thrown : new Error(String(thrown))
  const extensions = { code: 'SUBGRAPH_UNAVAILABLE', ...extensionsOf(error) }
  // Who gave it a code has worded it for clients.
  const message =
    extensions.code === 'SUBGRAPH_UNAVAILABLE' && !isTidemarkError(error)
      ? `The subgraph "${subgraph}" does not answer: ${error.message}`
      : error.message
  return { message, extensions, originalError: error }
}

/**
 * Lists in lists in lists, a million deep, are valid JSON, and parsed without ado. What walks them runs out of stack; that is
 * found out when it happens, since to measure every answer would cost each of them.
 */
export function isTooDeep(thrown: unknown): boolean {
  return thrown instanceof RangeError
}

export function tooDeep(subgraph: string, cause: unknown): TidemarkError {
  return new TidemarkError(
    'SUBGRAPH_UNAVAILABLE',
    `the data for the subgraph "${subgraph}", or from it, is nested too deeply: see what it answers`,
    {
      cause,
    },
  )
}

/** As the client sees it: `path` in the client's words, no locations (they would be those of the subgraph's document). */
export function clientError(error: FetchError, path: DataPath | undefined): GraphQLError {
  const originalError = error.remote === undefined ? error.originalError : new RemoteError(error.message, error.remote)
  const extensions = { ...(originalError instanceof Error ? extensionsOf(originalError) : {}), ...error.extensions }
  return new GraphQLError(error.message, {
    ...(path === undefined ? {} : { path }),
    ...(originalError instanceof Error ? { originalError } : {}),
    ...(Object.keys(extensions).length > 0 ? { extensions } : {}),
  })
}

function extensionsOf(error: Error): Record<string, unknown> {
  if (isTidemarkError(error)) return { code: error.code }
  const { extensions } = error as { extensions?: unknown }
  return typeof extensions === 'object' && extensions !== null ? { ...extensions } : {}
}
