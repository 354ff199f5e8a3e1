/** Errors of subgraphs. Each gets a code and keeps its cause for the log. */
import { GraphQLError } from 'graphql'
import { TidemarkError, isTidemarkError } from '../../core/errors.ts'
import { RemoteError } from '../request/remote-error.ts'
import type { DataPath } from './run.ts'
import type { FetchError } from '../transports/transport.ts'

/** The error of a fetch without any answer. */
export function unavailable(subgraph: string, thrown: unknown): FetchError {
  const error = thrown instanceof Error ? thrown : new Error(String(thrown))
  const extensions = { code: 'SUBGRAPH_UNAVAILABLE', ...extensionsOf(error) }
  // An error with a code has a message for clients already.
  const message =
    extensions.code === 'SUBGRAPH_UNAVAILABLE' && !isTidemarkError(error)
      ? `The subgraph "${subgraph}" does not answer: ${error.message}`
      : error.message
  return { message, extensions, originalError: error }
}

/**
 * Lists that are nested a million deep are valid JSON, and JSON.parse accepts them. Code that walks them runs out of stack. The gateway
 * handles the exception, because measuring every answer would cost each of them.
 */
export function isTooDeep(thrown: unknown): boolean {
  return thrown instanceof RangeError
}

export function tooDeep(subgraph: string, cause: unknown): TidemarkError {
  return new TidemarkError(
    'SUBGRAPH_UNAVAILABLE',
    `the data for the subgraph "${subgraph}", or from it, is nested too deeply: check its answers`,
    {
      cause,
    },
  )
}

/** The error for the client, with the client's path. It has no locations, because they would refer to the subgraph's document. */
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
