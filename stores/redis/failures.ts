/**
 * The meaning of a failed command: retry at once with the script's text, retry a little later, or give up with an error code. The patterns
 * match texts of the Redis server (`MOVED`, `LOADING` …), of Node's sockets and of ioredis 6.
 */
import { TidemarkError, isTidemarkError } from '../../core/errors.ts'
import { reasonsOf } from '../reasons.ts'

/** Transient states: a failover, a moving slot, a starting server, a reconnect. */
const PASSING = [
  /^(MOVED|ASK|TRYAGAIN|CLUSTERDOWN|LOADING|READONLY|MASTERDOWN|BUSY|NOREPLICAS|MISCONF) /,
  /^UNBLOCKED|^ERR max number of clients reached/,
  /\b(ECONNREFUSED|ECONNRESET|ECONNABORTED|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|EAI_AGAIN|ENOTFOUND)\b/,
  /^Connection is closed|^Command timed out|^Socket timeout|^Command aborted due to connection close/,
  /^Stream isn't writeable|^Cluster isn't ready|^Cluster is ended|^Reached the max retries per request/,
  /^Too many Cluster redirections|^None of startup nodes is available|^Failed to refresh slots cache/,
  /^No sharded subscriber|^No subscriber for the cluster|^Node is disconnected/,
]

/** After a redirection, the node did not execute the command. The last of too many errors may also be a closed connection. */
const NOT_SENT = [
  /^Stream isn't writeable|^Cluster isn't ready|^Cluster is ended|^None of startup nodes is available/,
  /^Too many Cluster redirections\. Last error: ReplyError: /,
  /\b(ECONNREFUSED|ENOTFOUND|EAI_AGAIN)\b|^connect (ETIMEDOUT|EHOSTUNREACH|ENETUNREACH)\b/,
]

const REFUSED = /^(NOAUTH|WRONGPASS|NOPERM|ERR AUTH|ERR invalid password|DENIED|SELECT \d+ refused)/
const NO_DATABASE = /\bSELECT (\d+) refused: (?!NOAUTH)/
const FULL = /^OOM |No space left on device/

/** The server rejects the credentials or the rights. A retry helps only after an operator changes them. */
export class RedisRefusal extends TidemarkError {}

/** `setting`: the name of the configuration section. */
export type Account = { username: string; hasPassword: boolean; setting: string }

export function isMissingScript(error: unknown): boolean {
  return messageOf(error).startsWith('NOSCRIPT')
}

export function isPassing(error: unknown): boolean {
  const message = messageOf(error)
  return PASSING.some((pattern) => pattern.test(message))
}

/** The command was sent and no answer came: the server may have executed it. */
export function mayHaveRun(error: unknown): boolean {
  const message = messageOf(error)
  return !(error instanceof Error && error.name === 'ReplyError') && !NOT_SENT.some((pattern) => pattern.test(message))
}

/** A key has a value of another type. Also recognizes the error that `toTidemarkError` made of it. */
export function isWrongType(error: unknown): boolean {
  return messageOf(isTidemarkError(error) ? error.cause : error).startsWith('WRONGTYPE')
}

/** `detail` is the last message of the connections. It names the cause if the command only got no answer. */
export function toTidemarkError(error: unknown, address: string, account: Account, detail: string | undefined): TidemarkError {
  if (error instanceof TidemarkError) return error
  const message = messageOf(error)
  const said = reasonsOf(message, detail)
  if (FULL.test(message)) {
    return new TidemarkError(
      'STORE_FULL',
      `Redis at ${address} accepts no more data (${message}): give it more memory (maxmemory) or disk`,
      {
        cause: error,
      },
    )
  }
  if (REFUSED.test(message) || (detail !== undefined && REFUSED.test(detail))) {
    return new RedisRefusal('HOT_STORE_UNAVAILABLE', `Redis at ${address} ${refusalOf(said, account)}`, { cause: error })
  }
  if (isPassing(error)) {
    return new TidemarkError(
      'HOT_STORE_UNAVAILABLE',
      `Redis at ${address} does not answer (${said}): try again, or check whether it runs`,
      {
        cause: error,
      },
    )
  }
  return new TidemarkError('INTERNAL', `Redis at ${address} gave an unexpected answer (${said}): report this`, { cause: error })
}

/** After a rejected password, a connection continues without one, and commands fail with NOAUTH. */
function refusalOf(said: string, { username, hasPassword, setting }: Account): string {
  const [, database] = NO_DATABASE.exec(said) ?? []
  if (database !== undefined)
    return `does not give user "${username}" database ${database} (${said}): name one in ${setting}.urls that it has and allows`
  if (/\b(NOPERM|DENIED)\b/.test(said))
    return `does not allow a command to user "${username}" (${said}): check its ACL and its protected mode`
  if (hasPassword) return `refuses the password of user "${username}" (${said}): correct ${setting}.username and password`
  return `requires a password, and none is set (${said}): set ${setting}.password, and username unless it is "default"`
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message || ('code' in error ? String(error.code) : error.name) : String(error)
}
