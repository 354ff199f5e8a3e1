/** Translates the messages of drivers for operators. Unknown messages stay unchanged. */
const KNOWN: readonly (readonly [RegExp, string])[] = [
  [/before secure TLS connection|wrong version number|packet length too long/, 'the server at this address does not seem to use TLS'],
  [/self[- ]signed certificate|unable to (get|verify)/, 'no trusted authority has signed its certificate: set tls.ca'],
  [/cluster support disabled/, 'it is not a Cluster: unset stores.redis.cluster, and name one address'],
  [/ECONNREFUSED/, 'nothing listens there: ECONNREFUSED'],
  [/ENOTFOUND|EAI_AGAIN/, 'its name cannot be resolved'],
  [/EHOSTUNREACH|ENETUNREACH/, 'its network cannot be reached'],
  [/ETIMEDOUT|^Connection timeout/, 'no connection in time'],
  [/^Command timed out|^Socket timeout/, 'no answer in time'],
  [/ECONNRESET|ECONNABORTED|EPIPE|^Connection is closed|^Closed connection/, 'the connection was cut'],
  [/^Stream isn't writeable|^Cluster isn't ready|^Cluster is ended/, 'not connected'],
  [/^None of startup nodes is available|^Failed to refresh slots cache/, 'no node of the Cluster answers'],
]

/** One text for several messages, without repetitions. */
export function reasonsOf(...said: readonly (string | undefined)[]): string {
  const words = said.flatMap((text) =>
    text === undefined || text === '' ? [] : [KNOWN.find(([pattern]) => pattern.test(text))?.[1] ?? text],
  )
  return [...new Set(words)].join('; ')
}

/** Maximum length of a quarantine reason, in UTF-16 units. */
const REASON_MAX = 250

/** The part of the reason that is kept; half a character at the cut becomes U+FFFD. */
export function cutReason(reason: string): string {
  return reason.slice(0, REASON_MAX).toWellFormed()
}
