import { expect, test } from 'vitest'
import { ERRORS, type ErrorCode } from '../../core/errors.ts'

/** Not read from the table itself: clients branch on codes, and retry by status. New codes may be added. */
const PROMISED: readonly { status: number; retryable: boolean; codes: readonly ErrorCode[] }[] = [
  {
    status: 400,
    retryable: false,
    codes: [
      'BUSINESS_UNKNOWN',
      'REPRESENTATION_INVALID',
      'REWARDS_IN_TOPIC',
      'SUBSCRIPTIONS_NOT_SERVED',
      'ID_INVALID',
      'IDS_TOO_MANY',
      'INPUTS_TOO_MANY',
      'POSITION_INVALID',
      'VIEWED_AT_INVALID',
      'DEVICE_INVALID',
      'MARK_INVALID',
      'MARKED_AT_INVALID',
      'SOURCE_INVALID',
      'DISLIKES_OFF',
      'REGISTERED_TWICE',
      'CANDIDATES_TOO_MANY',
      'PLAYED_AT_INVALID',
      'FIRST_INVALID',
      'CURSOR_INVALID',
      'BAD_REQUEST',
      'GRAPHQL_PARSE_FAILED',
      'GRAPHQL_VALIDATION_FAILED',
      'OPERATION_RESOLUTION_FAILURE',
      'OPERATION_TOO_LARGE',
      'OPERATION_TOO_COSTLY',
      'PERSISTED_QUERY_NOT_FOUND',
      'PERSISTED_QUERY_NOT_SUPPORTED',
      'PERSISTED_QUERY_HASH_MISMATCH',
      'SUBGRAPH_ERROR',
      'TEXT_INVALID',
      'MEDIA_INVALID',
      'AUDIENCE_INVALID',
      'KEY_INVALID',
      'SOURCE_RESTRICTED',
      'FOLLOW_SELF',
      'FOLLOWS_TOO_MANY',
      'FILTER_WORDS_INVALID',
      'DELTA_INVALID',
    ],
  },
  { status: 401, retryable: false, codes: ['UNAUTHENTICATED', 'TOKEN_EXPIRED'] },
  {
    status: 403,
    retryable: false,
    codes: ['UNAUTHORIZED_FIELD_OR_TYPE', 'FORBIDDEN', 'ORIGIN_FORBIDDEN', 'PERSISTED_QUERY_NOT_IN_LIST', 'BUSINESS_DISABLED'],
  },
  { status: 404, retryable: false, codes: ['POST_UNKNOWN'] },
  { status: 408, retryable: true, codes: ['REQUEST_TIMEOUT'] },
  { status: 409, retryable: false, codes: ['LIVE_VALUE_CHANGED', 'CLIENT_KEY_REUSED'] },
  { status: 410, retryable: false, codes: ['BUSINESS_DELETED', 'CURSOR_EXPIRED'] },
  { status: 413, retryable: false, codes: ['BODY_TOO_LARGE'] },
  { status: 415, retryable: false, codes: ['BODY_ENCODED'] },
  {
    status: 429,
    retryable: true,
    codes: ['QUOTA_EXCEEDED', 'PLAYS_TOO_MANY', 'RATE_LIMITED', 'SUBSCRIPTIONS_TOO_MANY', 'CONNECTIONS_TOO_MANY'],
  },
  {
    status: 500,
    retryable: false,
    codes: ['CONFIG_INVALID', 'DATA_IN_USE', 'STORE_NOT_EMPTY', 'DATA_INCOMPATIBLE', 'DATA_DAMAGED', 'TOPIC_MISSING', 'LEGACY_INVALID'],
  },
  { status: 500, retryable: true, codes: ['INTERNAL', 'ERASURE_INCOMPLETE'] },
  { status: 502, retryable: true, codes: ['SUBGRAPH_UNAVAILABLE'] },
  {
    status: 503,
    retryable: true,
    codes: [
      'IDENTITY_UNAVAILABLE',
      'HOT_STORE_UNAVAILABLE',
      'LOG_UNAVAILABLE',
      'RECORD_STORE_UNAVAILABLE',
      'LEGACY_UNAVAILABLE',
      'SHUTTING_DOWN',
      'CAPACITY_REACHED',
    ],
  },
  { status: 507, retryable: true, codes: ['STORE_FULL'] },
]

test.each(PROMISED.flatMap(({ codes, ...entry }) => codes.map((code) => ({ code, ...entry }))))(
  '$code keeps its status $status, and whether to retry',
  ({ code, status, retryable }) => {
    expect({ status: ERRORS[code].status, retryable: ERRORS[code].retryable }).toEqual({ status, retryable })
  },
)

test('every code is promised', () => {
  expect(PROMISED.flatMap(({ codes }) => codes).toSorted()).toEqual(Object.keys(ERRORS).toSorted())
})
