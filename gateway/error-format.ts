/**
 * What a client may learn from an error. Everything that leaves the gateway as a GraphQL error passes here:
 *
 * - a `TidemarkError`, bare or as the cause of a field's error, keeps its message and gets `extensions.code` and, if the
 *   same request may succeed later, `extensions.retryable`;
 * - a GraphQL error that somebody made on purpose (parse, validation, cost, a subgraph's answer) keeps message and code;
 * - anything else is a bug: it is logged with its cause under an id, and in production the client sees only that id.
 *
 * Stacks never leave, whoever put them there: subgraphs in development mode send theirs in `extensions`.
 */
import { randomUUID } from 'node:crypto'
import { GraphQLError, type ExecutionResult, type GraphQLFormattedError } from 'graphql'
import type { Logger } from 'pino'
import type { Config } from '../core/config.ts'
import { ERRORS, isTidemarkError, type ErrorCode, type TidemarkError } from '../core/errors.ts'

export type Log = Pick<Logger, 'error' | 'warn' | 'info' | 'debug'>

/** `request`: nothing was executed, so what graphql-js says about document and variables is for the client to read. */
export type ErrorOrigin = 'request' | 'field'

export type FormatError = (error: unknown, origin: ErrorOrigin) => GraphQLError

export function makeFormatError(mode: Config['server']['mode'], log: Log): FormatError {
  return function formatError(error, origin) {
    const located = asGraphQLError(error)
    const root = rootOf(error)
    if (isTidemarkError(root)) return rebuild(located, root.message, extensionsOf(root))
    const deliberate = root instanceof GraphQLError || isFormatted(root)
    if (located !== undefined && (deliberate || origin === 'request')) {
      return rebuild(located, located.message, publicExtensions(located.extensions, origin))
    }
    const id = randomUUID()
    log.error({ err: root, id, path: located?.path?.join('.') }, 'internal error')
    const message = mode === 'production' ? `internal error, see the server's log with id ${id}` : `${messageOf(root)} (id ${id} in the server's log)`
    return rebuild(located, message, { code: 'INTERNAL' satisfies ErrorCode, retryable: ERRORS.INTERNAL.retryable })
  }
}

/** The same result with its errors formatted; the same object if it has none. */
export function formatResult(result: ExecutionResult, formatError: FormatError): ExecutionResult {
  const { errors } = result
  if (errors === undefined) return result
  const origin = 'data' in result ? 'field' : 'request'
  return { ...result, errors: errors.map((error) => formatError(error, origin)) }
}

/** A GraphQL error for one of ours that is not about a field. */
export function graphqlErrorOf(error: TidemarkError): GraphQLError {
  return new GraphQLError(error.message, { extensions: extensionsOf(error) })
}

/** The HTTP status of a request that fails as a whole with these errors: the first error's. */
export function statusOf(errors: readonly GraphQLError[]): number {
  const code = errors[0]?.extensions['code']
  return isErrorCode(code) ? ERRORS[code].status : 400
}

function isErrorCode(code: unknown): code is ErrorCode {
  return typeof code === 'string' && Object.hasOwn(ERRORS, code)
}

function extensionsOf(error: TidemarkError): Record<string, unknown> {
  return ERRORS[error.code].retryable ? { code: error.code, retryable: true } : { code: error.code }
}

const PRIVATE_EXTENSIONS = new Set(['stacktrace', 'stack', 'exception'])

function publicExtensions(extensions: Readonly<Record<string, unknown>>, origin: ErrorOrigin): Record<string, unknown> {
  const visible: Record<string, unknown> = Object.fromEntries(Object.entries(extensions).filter(([name]) => !PRIVATE_EXTENSIONS.has(name)))
  const code = visible['code'] ?? (origin === 'request' ? ('GRAPHQL_VALIDATION_FAILED' satisfies ErrorCode) : undefined)
  if (code !== undefined) visible['code'] = code
  if (isErrorCode(code) && ERRORS[code].retryable) visible['retryable'] = true
  return visible
}

function rebuild(located: GraphQLError | undefined, message: string, extensions: Record<string, unknown>): GraphQLError {
  return new GraphQLError(message, { nodes: located?.nodes, source: located?.source, positions: located?.positions, path: located?.path, extensions })
}

/** Errors that crossed a network or a thread are plain objects of the shape the specification gives them. */
function asGraphQLError(error: unknown): GraphQLError | undefined {
  if (error instanceof GraphQLError) return error
  if (!isFormatted(error)) return undefined
  return new GraphQLError(error.message, { path: error.path, extensions: error.extensions })
}

function isFormatted(error: unknown): error is GraphQLFormattedError {
  return typeof error === 'object' && error !== null && !(error instanceof Error) && typeof (error as { message?: unknown }).message === 'string'
}

/** What was thrown first. Errors wrap each other a few times at most; the bound guards against one that wraps itself. */
function rootOf(error: unknown): unknown {
  let root = error
  for (let wraps = 0; wraps < 10 && root instanceof GraphQLError && root.originalError !== undefined; wraps++) root = root.originalError
  return root
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
