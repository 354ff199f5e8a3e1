/** Refusals: the answers to requests that are refused before their operation runs. */
import type { GraphQLError } from 'graphql'
import { TidemarkError } from '../../core/errors.ts'
import { rateLimitedError } from '../limits/rate-limits.ts'
import type { Refused } from '../limits/waiting-callers.ts'
import { graphqlErrorOf, type FormatError } from './error-format.ts'
import type { Metrics } from './metrics.ts'

/** `isBlocked`: the caller is blocked for too many refused requests. */
export type Refusal = { readonly errors: readonly GraphQLError[]; readonly isBlocked?: boolean }

/** Formats and counts a refusal. */
export type Refuse = { with(errors: readonly GraphQLError[]): Refusal; limited(refused: Refused): Refusal }

export function makeRefuse(metrics: Metrics, formatError: FormatError): Refuse {
  function refuse(errors: readonly GraphQLError[]): Refusal {
    metrics.countRequest('unknown', undefined, 'refused', 0)
    const formatted = errors.map((error) => formatError(error, 'request'))
    metrics.countErrors('unknown', formatted)
    return { errors: formatted }
  }
  return {
    with: refuse,
    limited: (refused) => ({ ...refuse([rateLimitedError(refused)]), isBlocked: refused.blocked }),
  }
}

/** The error of a subscription where only a single answer can be sent. */
export function subscriptionRefused(): GraphQLError {
  return graphqlErrorOf(
    new TidemarkError('BAD_REQUEST', 'a subscription has many answers: open it over WebSocket, or send accept: text/event-stream'),
  )
}
