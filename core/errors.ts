/**
 * One error class and one table. Every error that a client can see has a code of this table and a message. The message names the problem,
 * the value and the fix.
 */
export type ErrorEntry = {
  /** The HTTP status of a request that fails as a whole with this code. */
  status: number
  /** True if the same request, unchanged, may succeed later. */
  retryable: boolean
  meaning: string
}

export const ERRORS = {
  BUSINESS_UNKNOWN: {
    status: 400,
    retryable: false,
    meaning: 'No business with this name is configured, or it has no likes (`thumbup.enabled: false`).',
  },
  BUSINESS_DISABLED: {
    status: 403,
    retryable: false,
    meaning: 'The business takes no writes (`enabled: false`). Reads and deletions work.',
  },
  ID_INVALID: {
    status: 400,
    retryable: false,
    meaning: 'An id is empty, longer than 64 bytes of UTF-8, not well-formed, or a JSON number beyond 2^53.',
  },
  IDS_TOO_MANY: { status: 400, retryable: false, meaning: 'The call has more ids than allowed.' },
  INPUTS_TOO_MANY: { status: 400, retryable: false, meaning: 'The batch has more inputs than allowed.' },
  POSITION_INVALID: { status: 400, retryable: false, meaning: 'A position or duration is not a whole number from 0 to 2,147,483,647.' },
  VIEWED_AT_INVALID: { status: 400, retryable: false, meaning: 'viewedAt is not a time in milliseconds since 1970.' },
  DEVICE_INVALID: { status: 400, retryable: false, meaning: 'A device name is longer than 64 bytes of UTF-8.' },
  MARK_INVALID: { status: 400, retryable: false, meaning: 'A mark is not LIKE, DISLIKE or NONE.' },
  MARKED_AT_INVALID: { status: 400, retryable: false, meaning: 'markedAt is not a time in milliseconds since 1970.' },
  SOURCE_INVALID: { status: 400, retryable: false, meaning: 'A source is longer than 64 bytes of UTF-8.' },
  DISLIKES_OFF: { status: 400, retryable: false, meaning: 'The business has dislikes switched off.' },
  QUOTA_EXCEEDED: {
    status: 429,
    retryable: true,
    meaning: 'The business has reached one of its quotas: of writes per second, or of stored marks or records.',
  },
  BUSINESS_DELETED: {
    status: 410,
    retryable: false,
    meaning: 'The likes of the business were deleted (`thumbup.deleted: true`). Its progress and its feed stay.',
  },
  REGISTERED_TWICE: { status: 400, retryable: false, meaning: 'The call registers the same subject twice.' },
  CANDIDATES_TOO_MANY: { status: 400, retryable: false, meaning: 'The call has more candidates or excluded ids than the token allows.' },
  PLAYED_AT_INVALID: {
    status: 400,
    retryable: false,
    meaning:
      'playedAt is not a time in milliseconds since 1970, or it is too far in the future, or it is before the months that `unseen` reads.',
  },
  PLAYS_TOO_MANY: { status: 429, retryable: true, meaning: 'The viewer has more plays in an hour or in a month than Tidemark can store.' },
  TEXT_INVALID: {
    status: 400,
    retryable: false,
    meaning: 'The text of a post is too long or not well-formed, or the text is blank and media and source are missing.',
  },
  MEDIA_INVALID: { status: 400, retryable: false, meaning: 'A post has too many media, or one of them is not an https URL.' },
  AUDIENCE_INVALID: { status: 400, retryable: false, meaning: 'The audience of a post is empty, or has more than 1,000 ids.' },
  KEY_INVALID: {
    status: 400,
    retryable: false,
    meaning: 'The key of a post or of an event is empty, longer than 64 bytes of UTF-8, or not well-formed.',
  },
  CLIENT_KEY_REUSED: { status: 409, retryable: false, meaning: 'The client key was used for a post with other contents.' },
  POST_UNKNOWN: {
    status: 404,
    retryable: false,
    meaning:
      'There is no such post for this viewer: it was never published, is deleted, or is for other viewers. Marks get it only for ids of restricted posts.',
  },
  SOURCE_RESTRICTED: { status: 400, retryable: false, meaning: 'The source of a post is for chosen viewers only, and cannot be shared.' },
  FOLLOW_SELF: { status: 400, retryable: false, meaning: 'A viewer cannot follow themselves.' },
  FOLLOWS_TOO_MANY: { status: 400, retryable: false, meaning: 'The viewer follows as many users as allowed.' },
  FILTER_WORDS_INVALID: {
    status: 400,
    retryable: false,
    meaning: 'A filter word is blank, too long or not well-formed, or there are too many.',
  },
  DELTA_INVALID: {
    status: 400,
    retryable: false,
    meaning: 'A change of a counter is 0 or out of range, or would take the counter below 0.',
  },
  FIRST_INVALID: { status: 400, retryable: false, meaning: 'first is outside 1 to 100.' },
  CURSOR_INVALID: { status: 400, retryable: false, meaning: 'A cursor is not valid, or it belongs to another list.' },
  CURSOR_EXPIRED: {
    status: 410,
    retryable: false,
    meaning: 'Entries after the cursor were removed before they were read. `tidemark events` ends with it.',
  },
  REWARDS_IN_TOPIC: {
    status: 400,
    retryable: false,
    meaning: 'The reward events of this deployment are in the Kafka topic `.rewards`, and not in the API.',
  },
  UNAUTHENTICATED: {
    status: 401,
    retryable: false,
    meaning: 'The request has no token where a viewer is needed, or its token is not valid.',
  },
  TOKEN_EXPIRED: { status: 401, retryable: false, meaning: 'The token has expired.' },
  UNAUTHORIZED_FIELD_OR_TYPE: { status: 403, retryable: false, meaning: 'The token lacks a scope that this field requires.' },
  IDENTITY_UNAVAILABLE: { status: 503, retryable: true, meaning: 'The keys that verify tokens cannot be fetched from the issuer.' },
  RATE_LIMITED: { status: 429, retryable: true, meaning: 'The caller has exceeded a rate limit. Retry after `extensions.retryAfterMs`.' },
  FORBIDDEN: {
    status: 403,
    retryable: false,
    meaning: 'The token lacks the scope to act for another viewer or to call this field, or the post is of another author.',
  },
  ORIGIN_FORBIDDEN: {
    status: 403,
    retryable: false,
    meaning: 'Web pages of this origin may not use the API. The operator allows origins in `server.cors.origins`.',
  },
  BAD_REQUEST: {
    status: 400,
    retryable: false,
    meaning:
      'The request does not follow GraphQL over HTTP, or a variable is nested too deeply. Some mistakes in HTTP have another status: 404, 405, 406, 415, 417 or 431.',
  },
  GRAPHQL_PARSE_FAILED: { status: 400, retryable: false, meaning: 'The document has a syntax error.' },
  GRAPHQL_VALIDATION_FAILED: { status: 400, retryable: false, meaning: 'The operation is not valid in the schema.' },
  OPERATION_RESOLUTION_FAILURE: { status: 400, retryable: false, meaning: 'The document has no operation of the requested name.' },
  OPERATION_TOO_LARGE: {
    status: 400,
    retryable: false,
    meaning: 'The operation is deeper, wider or longer than allowed, or has too many mutations.',
  },
  OPERATION_TOO_COSTLY: { status: 400, retryable: false, meaning: 'With these variables the operation costs more than allowed.' },
  REPRESENTATION_INVALID: {
    status: 400,
    retryable: false,
    meaning: 'A representation that a gateway sent is not an object, or does not name an entity of this subgraph.',
  },
  SUBSCRIPTIONS_TOO_MANY: {
    status: 429,
    retryable: true,
    meaning: 'The open subscriptions of this connection, viewer or address would cost more than allowed.',
  },
  SUBSCRIPTIONS_NOT_SERVED: {
    status: 400,
    retryable: false,
    meaning: 'The subgraph of this subscription does not serve subscriptions.',
  },
  CONNECTIONS_TOO_MANY: {
    status: 429,
    retryable: true,
    meaning: 'This viewer or address has reached its limit of open WebSockets and event streams.',
  },
  CAPACITY_REACHED: { status: 503, retryable: true, meaning: 'This process has reached its limit of open connections or subscriptions.' },
  PERSISTED_QUERY_NOT_FOUND: {
    status: 400,
    retryable: false,
    meaning: 'The server knows no operation with this id. Send the text with the id.',
  },
  PERSISTED_QUERY_NOT_SUPPORTED: { status: 400, retryable: false, meaning: 'The server does not accept operations by id.' },
  PERSISTED_QUERY_NOT_IN_LIST: {
    status: 403,
    retryable: false,
    meaning: 'The server accepts only operations of its manifests from this client, and this operation is in none of them.',
  },
  PERSISTED_QUERY_HASH_MISMATCH: { status: 400, retryable: false, meaning: 'The id is not the hash of the text.' },
  BODY_ENCODED: { status: 415, retryable: false, meaning: 'The request body is compressed. Send it uncompressed.' },
  REQUEST_TIMEOUT: { status: 408, retryable: true, meaning: 'The request took too long to arrive.' },
  BODY_TOO_LARGE: { status: 413, retryable: false, meaning: 'The request body is larger than allowed.' },
  CONFIG_INVALID: {
    status: 500,
    retryable: false,
    meaning: 'tidemark.yaml, the environment, or an argument or option of a command is wrong.',
  },
  LIVE_VALUE_CHANGED: {
    status: 409,
    retryable: false,
    meaning: 'A live setting has another version than the change expects: another change came first. Nothing was written.',
  },
  DATA_IN_USE: { status: 500, retryable: false, meaning: 'Another process uses the data folder.' },
  DATA_INCOMPATIBLE: { status: 500, retryable: false, meaning: 'The stores were written with another region count or by another version.' },
  DATA_DAMAGED: { status: 500, retryable: false, meaning: 'Stored bytes are damaged.' },
  STORE_NOT_EMPTY: { status: 500, retryable: false, meaning: 'A restore found data in a store, and changed nothing.' },
  ERASURE_INCOMPLETE: {
    status: 500,
    retryable: true,
    meaning: 'Data of a viewer is still stored after an erasure. `tidemark viewer erase` names the places.',
  },
  STORE_FULL: { status: 507, retryable: true, meaning: 'The disk or the memory of a store is full.' },
  HOT_STORE_UNAVAILABLE: { status: 503, retryable: true, meaning: 'The hot store does not answer.' },
  LOG_UNAVAILABLE: { status: 503, retryable: true, meaning: 'The log does not answer.' },
  TOPIC_MISSING: { status: 500, retryable: false, meaning: 'A topic of the log does not exist.' },
  RECORD_STORE_UNAVAILABLE: { status: 503, retryable: true, meaning: 'The record store does not answer.' },
  LEGACY_UNAVAILABLE: { status: 503, retryable: true, meaning: 'The legacy store of plays does not answer.' },
  LEGACY_INVALID: {
    status: 500,
    retryable: false,
    meaning: 'A key of the legacy store is not a sorted set of plays, or has too many members.',
  },
  SUBGRAPH_ERROR: {
    status: 400,
    retryable: false,
    meaning: 'A subgraph returned an error without a public code for this field, or a value of a wrong type.',
  },
  SUBGRAPH_UNAVAILABLE: { status: 502, retryable: true, meaning: 'A subgraph does not answer.' },
  SHUTTING_DOWN: { status: 503, retryable: true, meaning: 'The process is shutting down and accepts no new requests.' },
  INTERNAL: { status: 500, retryable: true, meaning: 'A bug in Tidemark; the log of the server has the cause.' },
} as const satisfies Record<string, ErrorEntry>

export type ErrorCode = keyof typeof ERRORS

export class TidemarkError extends Error {
  readonly code: ErrorCode
  /** The fields that GraphQL libraries copy into the error for a client. */
  readonly extensions: { code: ErrorCode; retryable: boolean }
  /**
   * The input field that is wrong, from its input object on, such as `ids`, `3`. Empty if it is about the input as a whole. The name is not
   * `path`: graphql-js takes an error with a `path` for one that it has located already.
   */
  readonly inputPath: readonly string[]
  constructor(code: ErrorCode, message: string, options?: { cause?: unknown; path?: readonly string[] }) {
    // A message may have a cut value. With half a surrogate pair, strict parsers refuse the whole answer.
    super(message.toWellFormed(), options)
    this.inputPath = options?.path ?? []
    this.name = 'TidemarkError'
    this.code = code
    this.extensions = { code, retryable: ERRORS[code].retryable }
  }
}

/**
 * The public message. For server-side failures it is the table's sentence, because the original message names servers
 * and quotes their drivers. The original goes to operators, in the log.
 */
export function publicMessage({ code, message }: Pick<TidemarkError, 'code' | 'message'>): string {
  if (!OPERATORS_ONLY.has(code)) return message
  return `${ERRORS[code].meaning}${ERRORS[code].retryable ? ' Try again.' : ''}`
}

const OPERATORS_ONLY: ReadonlySet<ErrorCode> = new Set([
  ...(['HOT_STORE_UNAVAILABLE', 'LOG_UNAVAILABLE', 'RECORD_STORE_UNAVAILABLE', 'STORE_FULL', 'TOPIC_MISSING'] as const),
  ...(['LEGACY_UNAVAILABLE', 'LEGACY_INVALID'] as const),
  ...(['DATA_INCOMPATIBLE', 'DATA_DAMAGED', 'DATA_IN_USE', 'STORE_NOT_EMPTY', 'CONFIG_INVALID', 'INTERNAL'] as const),
  ...(['ERASURE_INCOMPLETE'] as const),
])

/** Codes that common GraphQL servers use for mistakes of the client, in addition to those of Tidemark. */
const COMMON_CODES = ['BAD_USER_INPUT', 'NOT_FOUND', 'CONFLICT']

/**
 * Errors about the document, which belongs to the gateway. A subgraph's message about it may name types and fields that
 * clients must not know.
 */
const OF_DOCUMENTS: ReadonlySet<string> = new Set<ErrorCode>([
  ...(['GRAPHQL_PARSE_FAILED', 'GRAPHQL_VALIDATION_FAILED', 'OPERATION_RESOLUTION_FAILURE', 'SUBGRAPH_ERROR'] as const),
])

/**
 * The default of `remote.errorCodes`: codes of remote subgraphs' errors whose messages clients may read. They are Tidemark's codes for
 * mistakes of the client, and the common ones.
 */
export const REMOTE_ERROR_CODES: readonly string[] = [
  ...(Object.keys(ERRORS) as ErrorCode[]).filter(
    (code) => ERRORS[code].status < 500 && !OPERATORS_ONLY.has(code) && !OF_DOCUMENTS.has(code),
  ),
  ...COMMON_CODES,
]

/** A value of a client for a message: its first `max` UTF-16 units, with "…" if there are more. */
export function shortened(text: string, max: number): string {
  return text.length > max ? `${text.slice(0, max).toWellFormed()}…` : text.toWellFormed()
}

export function isTidemarkError(error: unknown): error is TidemarkError {
  return error instanceof TidemarkError
}

/** True for a reader's error about damaged stored bytes. */
export function saysDamaged(error: unknown): error is TidemarkError {
  return isTidemarkError(error) && error.code === 'DATA_DAMAGED'
}
