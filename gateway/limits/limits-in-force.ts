/** The rate limits that a process applies: the configured limits, and in production defaults for the rest. */
import type { Config } from '../../config/config.ts'
import { PRODUCTION_LIMITS } from '../../config/gateway.ts'
import type { RateLimitOptions } from './rate-limits.ts'

const DEFAULTED = ['viewer', 'anonymous', 'abuse'] as const

export function limitsInForce({ server, limits }: { server: Pick<Config['server'], 'mode'>; limits: Config['limits'] }): RateLimitOptions {
  const isProduction = server.mode === 'production'
  const defaults = isProduction ? PRODUCTION_LIMITS : undefined
  // A configured limit per address also covers callers without a token, so their default does not apply.
  const anonymous = limits.anonymous ?? (limits.address === undefined ? defaults?.anonymous : undefined)
  return {
    viewer: unlessNone(limits.viewer ?? defaults?.viewer),
    // If the operator sets a rate for viewers and none for services, services count as viewers.
    service: limits.service ?? (limits.viewer === undefined ? defaults?.service : undefined),
    client: limits.client,
    address: limits.address,
    anonymous: unlessNone(anonymous),
    abuse: unlessNone(limits.abuse ?? defaults?.abuse),
    sharedAddresses: limits.sharedAddresses,
    // The defaults protect a process from a flood. They do not justify a Redis call per request.
    perProcess: DEFAULTED.filter((kind) => limits[kind] === undefined),
  }
}

function unlessNone<T>(rate: T | 'none' | undefined): T | undefined {
  return rate === 'none' ? undefined : rate
}
