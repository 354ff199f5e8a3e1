/** Checks of a caller before its operation is known: its credentials, its rate limits and the size of its body. */
import { isTidemarkError, type ErrorCode } from '../../core/errors.ts'
import type { Viewer } from '../../core/viewer.ts'
import { IDENTITY_HEADER } from '../identity/identity-header.ts'
import { namesViewer, withIdsAsText, type Credentials, type Identify } from '../identity/identify.ts'
import type { RateLimits } from '../limits/rate-limits.ts'
import type { AddressOf } from './addresses.ts'
import { clientOf, forwardedOf, type Caller } from './caller.ts'
import type { Refusal, Refuse } from './refusal.ts'
import type { Watching } from './watching.ts'

export type CallerOptions = {
  readonly identify: Identify
  /** Absent: no rate limits. */
  readonly limits?: RateLimits | undefined
  /** The address of a client behind proxies. Absent: the other end of the connection. */
  readonly addressOf?: AddressOf
  /** The client's headers that subgraphs get. Absent: none. */
  readonly forwardHeaders?: readonly string[]
}

export type CallerChecks = {
  /**
   * Rejects with a TidemarkError if the credentials are wrong. If the caller's address is still waiting, returns the refusal before the
   * credentials are checked. `headers`: the headers of the request, if the credentials came in another way.
   */
  callerOf(credentials: Credentials, address: string | undefined, headers?: Credentials): Promise<Caller | Refusal>
  /** The refusal of a caller that must still wait. `prepare` checks it too; a door checks it before it parses a request. */
  waiting(caller: Caller): Refusal | undefined
  /**
   * Charges a large body a point per kilobyte, for the time and memory that reading it takes. Returns a refusal if the points are used up.
   */
  chargeBody(caller: Caller, bytes: number): Promise<Refusal | undefined>
  /** The address of a request, from the peer of its connection and its headers. */
  addressOf(remote: string | undefined, headers: Credentials): string | undefined
}

/** Checking such credentials takes the time of a signature. The caller is unknown then, so the refusal counts for the address. */
const BAD_CREDENTIALS: ReadonlySet<ErrorCode> = new Set(['UNAUTHENTICATED', 'TOKEN_EXPIRED'])

export function makeCallerChecks(
  { identify, limits, addressOf: addressBehindProxies, forwardHeaders = [] }: CallerOptions,
  watching: Watching,
  refuse: Refuse,
): CallerChecks {
  function addressOf(remote: string | undefined, headers: Credentials): string | undefined {
    return addressBehindProxies === undefined ? remote : addressBehindProxies(remote, headers['x-forwarded-for'])
  }

  async function callerOf(
    credentials: Credentials,
    remote: string | undefined,
    headers: Credentials = credentials,
  ): Promise<Caller | Refusal> {
    const address = addressOf(remote, headers)
    const unknown: Caller = { viewer: undefined, client: undefined, address }
    // Callers with a valid token must not wait for callers without a token at the same address.
    const waiting = limits?.waiting(unknown, namesViewer(credentials) || credentials[IDENTITY_HEADER] !== undefined)
    if (waiting !== undefined) return refuse.limited(waiting)
    let viewer: Viewer | undefined
    try {
      viewer = await identify(credentials === headers ? withIdsAsText(headers) : credentials)
    } catch (error) {
      if (limits === undefined || !isTidemarkError(error) || !BAD_CREDENTIALS.has(error.code)) throw error
      const isWaiting = limits.waiting(unknown)
      if (isWaiting !== undefined) return refuse.limited(isWaiting)
      limits.refuse(unknown)
      throw error
    }
    const caller = { viewer, client: clientOf(credentials), address, ...watching.callerPart(headers) }
    const forwarded = forwardedOf(headers, forwardHeaders)
    return forwarded === undefined ? caller : { ...caller, forwarded }
  }

  return {
    callerOf,
    waiting(caller) {
      const refused = limits?.waiting(caller)
      return refused && refuse.limited(refused)
    },
    async chargeBody(caller, bytes) {
      const refused = await limits?.spend(caller, Math.ceil(bytes / 1_024))
      return refused && refuse.limited(refused)
    },
    addressOf,
  }
}
