/** Maps errors of kafkajs to TidemarkErrors: one sentence that says what to do, with the original as its cause. */
import { TidemarkError, isTidemarkError } from '../../core/errors.ts'
import { reasonsOf } from '../reasons.ts'

/** kafkajs wraps errors in errors; one of them has the protocol's name of the failure (`type`). */
type Link = { name?: string; type?: string; message?: string; cause?: unknown; originalError?: unknown }

function chain(error: unknown): Link[] {
  const links: Link[] = []
  for (let current = error; typeof current === 'object' && current !== null && links.length < LINKS_MAX;) {
    const link: Link = current
    links.push(link)
    current = link.cause ?? link.originalError
  }
  return links
}

const LINKS_MAX = 10
const MISSING = new Set(['UNKNOWN_TOPIC_OR_PARTITION'])
const NOT_SETTLED = new Set([...MISSING, 'LEADER_NOT_AVAILABLE', 'NOT_LEADER_FOR_PARTITION'])
const NO_COORDINATOR = new Set(['GROUP_LOAD_IN_PROGRESS', 'GROUP_COORDINATOR_NOT_AVAILABLE', 'NOT_COORDINATOR_FOR_GROUP'])
const REFUSED_CREDENTIALS = new Set(['SASL_AUTHENTICATION_FAILED', 'ILLEGAL_SASL_STATE', 'UNSUPPORTED_SASL_MECHANISM'])
const FORBIDDEN = new Set(['TOPIC_AUTHORIZATION_FAILED', 'GROUP_AUTHORIZATION_FAILED', 'CLUSTER_AUTHORIZATION_FAILED'])

type Address = { brokers: readonly string[]; sasl?: { mechanism: string; username: string } }

export function logError(connection: Address, cause: unknown): TidemarkError {
  if (isTidemarkError(cause)) return cause
  const errors = chain(cause)
  const where = connection.brokers.join(', ')
  if (hasType(cause, MISSING))
    return new TidemarkError('TOPIC_MISSING', `a topic of the log does not exist at Kafka ${where}: run \`tidemark migrate\``, { cause })
  if (hasType(cause, REFUSED_CREDENTIALS) || errors.some((error) => error.name?.includes('SASL') === true)) {
    const { username = 'none', mechanism = 'none' } = connection.sasl ?? {}
    return unavailable(`Kafka at ${where} refused the credentials of user "${username}" (mechanism ${mechanism}): check them`, cause)
  }
  if (hasType(cause, FORBIDDEN))
    return unavailable(
      `Kafka at ${where} does not allow this user to use the log (${errors[0]?.message ?? ''}): grant it the topics and the group`,
      cause,
    )
  const reason = reasonsOf(errors.at(-1)?.message ?? errors[0]?.message ?? String(cause))
  return unavailable(`Kafka at ${where} failed to answer (${reason}): check that it runs and can be reached`, cause)
}

function unavailable(message: string, cause: unknown): TidemarkError {
  return new TidemarkError('LOG_UNAVAILABLE', message, { cause })
}

const TOO_LARGE = new Set(['MESSAGE_TOO_LARGE', 'RECORD_LIST_TOO_LARGE'])
const LASTING = new Set([...REFUSED_CREDENTIALS, ...FORBIDDEN, ...TOO_LARGE, 'INVALID_CONFIG', 'INVALID_SESSION_TIMEOUT'])

/** True if Kafka rejects the credentials or the rights. A retry helps only after an operator changes them. */
export function isRefusal(error: unknown): boolean {
  return (
    hasType(error, REFUSED_CREDENTIALS) || hasType(error, FORBIDDEN) || chain(error).some((link) => link.name?.includes('SASL') === true)
  )
}

/** True if the same call would always fail in the same way. A missing topic may just have been created. */
export function isLasting(error: unknown): boolean {
  return chain(error).some((link) => (link.type !== undefined && LASTING.has(link.type)) || link.name?.includes('SASL') === true)
}

/** Brokers learn of a new topic one after the other: for some seconds, one request finds it and the next does not. */
export function isMissing(error: unknown): boolean {
  return (isTidemarkError(error) && error.code === 'TOPIC_MISSING') || hasType(error, MISSING)
}

/** Like `isMissing`, and also for the leaders of its partitions. */
export function isUnsettled(error: unknown): boolean {
  return hasType(error, NOT_SETTLED)
}

/** True while a group's coordinator is elected or loads its state, for a moment after brokers start or move. */
export function isWithoutCoordinator(error: unknown): boolean {
  return hasType(error, NO_COORDINATOR)
}

export function isTooLarge(error: unknown): boolean {
  return hasType(error, TOO_LARGE)
}

function hasType(error: unknown, types: ReadonlySet<string>): boolean {
  return chain(error).some((link) => link.type !== undefined && types.has(link.type))
}

/** Milliseconds for which a topic may be missing before that is reported. */
export const MISSING_MAX_MS = 5_000
