/**
 * What a failed command means: try again at once with the script's text, try again a little later, or give up with which
 * code. The texts are those of the Redis server (`MOVED`, `LOADING` …), of Node's sockets and of ioredis 6.
 */
import { TidemarkError, isTidemarkError } from '../../core/errors.ts'
import { reasonsOf } from '../reasons.ts'

/** States that pass: a failover, a slot on its way, a server that is just starting, a connection that is being made again. */
const PASSING = [
  /^(MOVED|ASK|TRYAGAIN|CLUSTERDOWN|LOADING|READONLY|MASTERDOWN|BUSY|NOREPLICAS|MISCONF) /,
  /^UNBLOCKED|^ERR max number of clients reached/,
  /\b(ECONNREFUSED|ECONNRESET|ECONNABORTED|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|EAI_AGAIN|ENOTFOUND)\b/,
  /^Connection is closed|^Command timed out|^Socket timeout|^Command aborted due to connection close/,
  /^Stream isn't writeable|^Cluster isn't ready|^Cluster is ended|^Reached the max retries per request/,
  /^Too many Cluster redirections|^None of startup nodes is available|^Failed to refresh slots cache/,
  /^No sharded subscriber|^No subscriber for the cluster|^Node is disconnected/,
]

/** A redirection says that the node did not execute the command. The last error of too many may also be a closed connection. */
const NOT_SENT = [
  /^Stream isn't writeable|^Cluster isn't ready|^Cluster is ended|^None of startup nodes is available/,
  /^Too many Cluster redirections\. Last error: ReplyError: /,
  /\b(ECONNREFUSED|ENOTFOUND|EAI_AGAIN)\b|^connect (ETIMEDOUT|EHOSTUNREACH|ENETUNREACH)\b/,
]

const REFUSED = /^(NOAUTH|WRONGPASS|NOPERM|ERR AUTH|ERR invalid password|DENIED|SELECT \d+ refused)/
const NO_DATABASE = /\bSELECT (\d+) refused: (?!NOAUTH)/
const FULL = /^OOM |No space left on device/

/** The server wants other credentials, or gives these fewer rights: no use in trying again before somebody changes them. */
export class RedisRefusal extends TidemarkError {}

/** `setting`: where it is configured. */
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

/** A key holds something of another kind than was asked for; also as `toTidemarkError` made of it. */
export function isWrongType(error: unknown): boolean {
  return messageOf(isTidemarkError(error) ? error.cause : error).startsWith('WRONGTYPE')
}

/** `detail` is what the connections last said: it names the cause where the command only knows that it got no answer. */
export function toTidemarkError(error: unknown, address: string, account: Account, detail: string | undefined): TidemarkError {
  if (error instanceof TidemarkError) return error
  const message = messageOf(error)
  const said = reasonsOf(message, detail)
  if (FULL.test(message)) {
    return new TidemarkError('STORE_FULL', `Redis at ${address} takes no more data (${message}): give it more memory (maxmemory) or disk`, {
      cause: error,
    })
  }
  if (REFUSED.test(message) || (detail !== undefined && REFUSED.test(detail))) {
    return new RedisRefusal('HOT_STORE_UNAVAILABLE', `Redis at ${address} ${refusalOf(said, account)}`, { cause: error })
  }
  if (isPassing(error)) {
    return new TidemarkError('HOT_STORE_UNAVAILABLE', `Redis at ${address} does not answer (${said}): try again, or see whether it runs`, {
      cause: error,
    })
  }
  return new TidemarkError('INTERNAL', `Redis at ${address} answered what it never should (${said}): report this`, { cause: error })
}

/** After a password was refused, a connection goes on without one: then commands fail with NOAUTH. */
function refusalOf(said: string, { username, hasPassword, setting }: Account): string {
  const [, database] = NO_DATABASE.exec(said) ?? []
  if (database !== undefined)
    return `does not give user "${username}" database ${database} (${said}): name one in ${setting}.urls that it has and allows`
  if (/\b(NOPERM|DENIED)\b/.test(said)) return `does not allow user "${username}" what we do (${said}): see its ACL, and its protected mode`
  if (hasPassword) return `refuses the password of user "${username}" (${said}): correct ${setting}.username and password`
  return `wants a password, and none is set (${said}): set ${setting}.password, and username unless it is "default"`
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message || ('code' in error ? String(error.code) : error.name) : String(error)
}
