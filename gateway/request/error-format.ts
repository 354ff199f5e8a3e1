/**
 * What a client may learn from an error. Everything that leaves the gateway as a GraphQL error passes here:
 *
 * - a `TidemarkError`, bare or as the cause of a field's error, keeps its message (`publicMessage` of core/errors.ts: of what is
 *   wrong with our stores the client learns that much only) and gets `extensions.code` and, if the
 *   same request may succeed later, `extensions.retryable`;
 * - a GraphQL error that somebody made on purpose (parse, validation, cost, a subgraph's answer) keeps message and code;
 * - an error of a remote subgraph keeps both in production only if its code is one of `remote.errorCodes`; of any other the
 *   client sees the id under which the log has it. Of its extensions only the code passes;
 * - anything else may tell what is nobody's business (an address, a statement): it is logged with its cause under an id,
 *   and in production the client sees only that id, and INTERNAL or the code that somebody gave it on the way.
 *
 * Stacks never leave, whoever put them there: subgraphs in development mode send theirs in `extensions`.
 */
import { randomUUID } from 'node:crypto'
import { GraphQLError, type ExecutionResult, type GraphQLFormattedError } from 'graphql'
import type { Logger } from 'pino'
import type { Config } from '../../config/config.ts'
import { ERRORS, REMOTE_ERROR_CODES, isTidemarkError, publicMessage, type ErrorCode, type TidemarkError } from '../../core/errors.ts'
import { RemoteError, logIdOf } from './remote-error.ts'

export type Log = Pick<Logger, 'error' | 'warn' | 'info' | 'debug'>

/** `request`: nothing was executed; an error without a code is then about the document or its variables. */
export type ErrorOrigin = 'request' | 'field'

export type FormatError = (error: unknown, origin: ErrorOrigin) => GraphQLError

/** `remoteCodes`: errors of remote subgraphs with these codes are shown. */
export function makeFormatError(
  mode: Config['server']['mode'],
  log: Log,
  remoteCodes: readonly string[] = REMOTE_ERROR_CODES,
): FormatError {
  const shownCodes = new Set<unknown>(remoteCodes)

  /** Text may come from a remote subgraph, and does not say so: in production it needs a code of ours, or one of those. */
  function isUnknownText(root: unknown, { extensions: { code } }: GraphQLError): boolean {
    return mode === 'production' && isFormatted(root) && !isErrorCode(code) && !shownCodes.has(code)
  }

  /** What a remote subgraph said, in production. */
  function formatRemote(root: RemoteError, located: GraphQLError): GraphQLError {
    const code = located.extensions['code']
    if (shownCodes.has(code)) return rebuild(located, root.message, isErrorCode(code) ? extensionsOf(code) : { code })
    const id = logIdOf(root, (fields) => log.warn(fields, 'a subgraph answered with errors that clients do not see'))
    // That the same request may succeed later is for the client, whoever says it.
    const shown = isErrorCode(code) && code !== 'INTERNAL' && ERRORS[code].retryable ? code : 'SUBGRAPH_ERROR'
    return rebuild(located, `a subgraph failed, see the server's log with id ${id}`, extensionsOf(shown))
  }

  /** What a client does not learn of the error, the log has. */
  function toldAs(error: Pick<TidemarkError, 'code' | 'message'>, err: unknown): string {
    const message = publicMessage(error)
    if (message !== error.message) log.warn({ err }, 'a request failed')
    return message
  }

  return function formatError(error, origin) {
    const located = asGraphQLError(error)
    const root = rootOf(error)
    if (isTidemarkError(root)) return rebuild(located, toldAs(root, root), extensionsOf(root.code))
    const code = codeOf(located)
    if (mode === 'production' && located !== undefined && root instanceof RemoteError) return formatRemote(root, located)
    if (located !== undefined && isForClients(root, code) && !isUnknownText(root, located)) {
      // What was text before has no class any more, and its message is as it was thrown.
      const message = code !== undefined && isFormatted(root) ? toldAs({ code, message: located.message }, root) : located.message
      const { extensions } = located
      // Nor has it an author: of text only the code passes.
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
 * Was this message written for clients? A GraphQL error says so itself. A foreign error was let through by whoever gave
 * it a code of ours for a mistake of the client; a code for a failure of ours says only how to treat it. What crossed a
 * network or was text before is an error of no class at all: it needs a code.
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

/** A GraphQL error for one of ours that is not about a field. */
export function graphqlErrorOf(error: TidemarkError): GraphQLError {
  return new GraphQLError(error.message, { extensions: extensionsOf(error.code) })
}

/** The HTTP status of a request that fails as a whole with these errors: the first error's. */
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

function rebuild(located: GraphQLError | undefined, message: string, extensions: Record<string, unknown>): GraphQLError {
  const { nodes = null, source = null, positions = null, path = null } = located ?? {}
  return new GraphQLError(message, { nodes, source, positions, path, extensions })
}

/** Errors that crossed a network or a thread are plain objects of the shape the specification gives them. */
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

/** What was thrown first. Errors wrap each other a few times at most; the bound guards against one that wraps itself. */
function rootOf(error: unknown): unknown {
  let root = error
  for (let wraps = 0; wraps < 10 && root instanceof GraphQLError && root.originalError !== undefined; wraps++) root = root.originalError
  return root
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
