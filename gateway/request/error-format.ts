/**
 * Formats errors for clients. Every GraphQL error that leaves the gateway passes here:
 *
 * - A `TidemarkError`, bare or as the cause of a field's error, keeps its message. It gets `extensions.code`, and `extensions.retryable` if
 *   the same request may succeed later. `publicMessage` of core/errors.ts hides the details of store failures.
 * - A GraphQL error that is meant for clients (parse, validation, cost, a subgraph's answer) keeps its message and its code.
 * - In production, an error of a remote subgraph keeps both only if its code is one of `remote.errorCodes`. For any other error, the client
 *   sees the id of its log entry. The code is the only extension that passes.
 * - Any other error may contain internals, such as an address or a statement. It is logged with its cause under an id. In production the
 *   client sees that id, with INTERNAL or with the code that the error was given on the way.
 *
 * Stacks never leave the gateway. Subgraphs in development mode send theirs in `extensions`.
 */
import { randomUUID } from 'node:crypto'
import { GraphQLError, type ExecutionResult, type GraphQLFormattedError } from 'graphql'
import type { Logger } from 'pino'
import type { Config } from '../../config/config.ts'
import {
  ERRORS,
  REMOTE_ERROR_CODES,
  isTidemarkError,
  publicMessage,
  shortened,
  type ErrorCode,
  type TidemarkError,
} from '../../core/errors.ts'
import { RemoteError, logIdOf } from './remote-error.ts'

export type Log = Pick<Logger, 'error' | 'warn' | 'info' | 'debug'>

/** `request`: the operation did not run. An error without a code is then about the document or its variables. */
export type ErrorOrigin = 'request' | 'field'

export type FormatError = (error: unknown, origin: ErrorOrigin) => GraphQLError

/** `remoteCodes`: errors of remote subgraphs with these codes are shown. */
export function makeFormatError(
  mode: Config['server']['mode'],
  log: Log,
  remoteCodes: readonly string[] = REMOTE_ERROR_CODES,
): FormatError {
  const shownCodes = new Set<unknown>(remoteCodes)

  /**
   * Plain errors may come from a remote subgraph without naming it. In production they need a code of Tidemark or a code in `remoteCodes`.
   */
  function isUnknownText(root: unknown, { extensions: { code } }: GraphQLError): boolean {
    return mode === 'production' && isFormatted(root) && !isErrorCode(code) && !shownCodes.has(code)
  }

  /** An error of a remote subgraph, in production. */
  function formatRemote(root: RemoteError, located: GraphQLError): GraphQLError {
    const code = located.extensions['code']
    if (shownCodes.has(code)) return rebuild(located, root.message, isErrorCode(code) ? extensionsOf(code) : { code })
    const id = logIdOf(root, (fields) => log.warn(fields, 'a subgraph answered with errors that clients do not see'))
    // A client may always know that the same request may succeed later.
    const shown = isErrorCode(code) && code !== 'INTERNAL' && ERRORS[code].retryable ? code : 'SUBGRAPH_ERROR'
    return rebuild(located, `a subgraph failed, see the server's log with id ${id}`, extensionsOf(shown))
  }

  /** The message for the client. If it hides details, the error is logged. */
  function shownMessage(error: Pick<TidemarkError, 'code' | 'message'>, err: unknown): string {
    const message = publicMessage(error)
    if (message !== error.message) log.warn({ err }, 'a request failed')
    return message
  }

  return function formatError(error, origin) {
    const located = asGraphQLError(error)
    const root = rootOf(error)
    if (isTidemarkError(root)) return rebuild(located, shownMessage(root, root), extensionsOf(root.code))
    const code = codeOf(located)
    if (mode === 'production' && located !== undefined && root instanceof RemoteError) return formatRemote(root, located)
    if (located !== undefined && isForClients(root, code) && !isUnknownText(root, located)) {
      // An error that crossed a network has lost its class, and its message is unfiltered.
      const message = code !== undefined && isFormatted(root) ? shownMessage({ code, message: located.message }, root) : located.message
      const { extensions } = located
      // Its author is unknown too, so only its code passes.
      return rebuild(
        located,
        message,
        publicExtensions(mode === 'production' && isFormatted(root) ? { code: extensions['code'] } : extensions, origin),
      )
    }
    const id = randomUUID()
    log.error({ err: root, id, path: located?.path?.join('.') }, 'internal error')
    const message =
      mode === 'production' ? `internal error, see the server's log with id ${id}` : `${messageOf(root)} (id ${id} in the server's log)`
    return rebuild(located, message, extensionsOf(code ?? 'INTERNAL'))
  }
}

/**
 * Decides whether a message was written for clients. The message of a GraphQL error always is. The message of another error is shown if the
 * error has a code for a mistake of the client; a code for a failure of the server only tells how to treat it. An error that crossed a
 * network has no class, so it needs a code.
 */
function isForClients(root: unknown, code: ErrorCode | undefined): boolean {
  if (root instanceof GraphQLError || root instanceof RemoteError) return true
  if (isFormatted(root)) return root.extensions?.['code'] !== undefined && code !== 'INTERNAL'
  return code !== undefined && ERRORS[code].status < 500
}

/** The same result with its errors formatted; the same object if it has none. */
export function formatResult(result: ExecutionResult, formatError: FormatError): ExecutionResult {
  const { errors } = result
  if (errors === undefined) return result
  const origin = 'data' in result ? 'field' : 'request'
  return { ...result, errors: errors.map((error) => formatError(error, origin)) }
}

/** The GraphQL error for a TidemarkError that is not about a field. */
export function graphqlErrorOf(error: TidemarkError): GraphQLError {
  return new GraphQLError(error.message, { extensions: extensionsOf(error.code) })
}

/** The HTTP status of a request that fails as a whole: the status of its first error. */
export function statusOf(errors: readonly GraphQLError[]): number {
  const code = codeOf(errors[0])
  return code === undefined ? 400 : ERRORS[code].status
}

function codeOf(error: GraphQLError | undefined): ErrorCode | undefined {
  const code = error?.extensions['code']
  return isErrorCode(code) ? code : undefined
}

function isErrorCode(code: unknown): code is ErrorCode {
  return typeof code === 'string' && Object.hasOwn(ERRORS, code)
}

function extensionsOf(code: ErrorCode): Record<string, unknown> {
  return ERRORS[code].retryable ? { code, retryable: true } : { code }
}

const PRIVATE_EXTENSIONS = new Set(['stacktrace', 'stack', 'exception'])

function publicExtensions(extensions: Readonly<Record<string, unknown>>, origin: ErrorOrigin): Record<string, unknown> {
  const visible: Record<string, unknown> = Object.fromEntries(Object.entries(extensions).filter(([name]) => !PRIVATE_EXTENSIONS.has(name)))
  const code = visible['code'] ?? ((origin === 'request' ? 'GRAPHQL_VALIDATION_FAILED' : 'SUBGRAPH_ERROR') satisfies ErrorCode)
  if (code !== undefined) visible['code'] = code
  if (isErrorCode(code) && ERRORS[code].retryable) visible['retryable'] = true
  return visible
}

/** Characters. Messages of graphql-js may quote a whole value. */
const MESSAGE_MAX = 2_000

function rebuild(located: GraphQLError | undefined, message: string, extensions: Record<string, unknown>): GraphQLError {
  const { nodes = null, source = null, positions = null, path = null } = located ?? {}
  return new GraphQLError(shortened(message, MESSAGE_MAX), { nodes, source, positions, path, extensions })
}

/** Errors that crossed a network or a thread are plain objects in the shape of the GraphQL specification. */
function asGraphQLError(error: unknown): GraphQLError | undefined {
  if (error instanceof GraphQLError) return error
  if (!isFormatted(error)) return undefined
  return new GraphQLError(error.message, { path: error.path ?? null, extensions: error.extensions ?? null })
}

function isFormatted(error: unknown): error is GraphQLFormattedError {
  return (
    typeof error === 'object' && error !== null && !(error instanceof Error) && typeof (error as { message?: unknown }).message === 'string'
  )
}

/** The innermost error. Errors wrap each other a few times at most. The bound guards against an error that wraps itself. */
function rootOf(error: unknown): unknown {
  let root = error
  for (let wraps = 0; wraps < 10 && root instanceof GraphQLError && root.originalError !== undefined; wraps++) root = root.originalError
  return root
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
