/**
 * A published key set (JWKS), read over the network and kept. jose finds the key of a token in it. If a token names an unknown key, jose
 * reads the set again, at most once in `COOLDOWN_MS`. Rotated keys therefore work within seconds, and tokens with invented key ids cause no
 * flood of requests.
 *
 * A set that is older than `REFRESH_EVERY_MS` is read again in the background, and revoked keys disappear. If its address is down, the
 * known keys stay valid, so signed-in viewers stay signed in. A process that has never read the set cannot verify tokens. It answers
 * IDENTITY_UNAVAILABLE, which says nothing about the token.
 */
import { createRemoteJWKSet, customFetch, errors, type FetchImplementation, type JWTVerifyGetKey } from 'jose'
import type { Clock } from '../../core/clock.ts'
import { TidemarkError } from '../../core/errors.ts'

export type KeySetLog = { warn(fields: object, message: string): void }

export type KeySet = {
  readonly find: JWTVerifyGetKey
  readonly refreshEveryMs: number
}

const REFRESH_EVERY_MS = 600_000
const COOLDOWN_MS = 2_000
const TIMEOUT_MS = 5_000
/** A key takes less than 1 KB, or several KB with a certificate chain. */
const BYTES_MAX = 262_144
/** After a failure, the address is not read for this long. Meanwhile tokens that need it are refused at once. */
const RETRY_AFTER_MS = 1_000

export function makeKeySet(url: string, clock: Clock, log?: KeySetLog): KeySet {
  const set = createRemoteJWKSet(new URL(url), {
    timeoutDuration: TIMEOUT_MS,
    cooldownDuration: COOLDOWN_MS,
    cacheMaxAge: Infinity,
    [customFetch]: fetchBounded,
  })
  let askedAt = -Infinity
  let failedAt = -Infinity
  let failure: unknown
  void refresh()

  /** Never rejects. */
  async function refresh(): Promise<void> {
    askedAt = clock.now()
    try {
      await set.reload()
      failure = undefined
    } catch (error) {
      failed(error)
    }
  }

  function failed(error: unknown): void {
    failure = error
    failedAt = clock.now()
    // The next attempt is due after a second, not after ten minutes.
    askedAt = failedAt - REFRESH_EVERY_MS + RETRY_AFTER_MS
    // A query may hold a token.
    const { origin, pathname } = new URL(url)
    log?.warn({ err: error, url: origin + pathname }, 'the key set of auth.jwksUrl cannot be read; known keys stay valid')
  }

  const find: JWTVerifyGetKey = async (header, token) => {
    const isKnown = set.jwks() !== undefined
    if (isKnown && clock.now() - askedAt >= REFRESH_EVERY_MS) void refresh()
    if (!isKnown && failure !== undefined && clock.now() - failedAt < RETRY_AFTER_MS) throw unavailable(url, failure)
    try {
      return await set(header, token)
    } catch (error) {
      if (error instanceof errors.JWKSNoMatchingKey || error instanceof errors.JWKSMultipleMatchingKeys) throw error
      if (error instanceof errors.JOSENotSupported) throw error
      failed(error)
      // An unknown key may be new or invented. While the address is down, this cannot be decided.
      throw unavailable(url, error)
    }
  }
  return { find, refreshEveryMs: REFRESH_EVERY_MS }
}

/** jose would read an answer of any size into memory. */
const fetchBounded: FetchImplementation = async (url, options) => {
  const response = await fetch(url, options)
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of response.body ?? []) {
    length += chunk.length
    // An error in the loop closes the connection.
    if (length > BYTES_MAX) throw new Error(`the key set has more than ${BYTES_MAX} bytes`)
    chunks.push(chunk)
  }
  return new Response(Buffer.concat(chunks), { status: response.status, headers: response.headers })
}

function unavailable(url: string, cause: unknown): TidemarkError {
  const { host } = new URL(url)
  return new TidemarkError(
    'IDENTITY_UNAVAILABLE',
    `tokens cannot be verified: the key set at ${host} cannot be read; try again in a few seconds`,
    {
      cause,
    },
  )
}
