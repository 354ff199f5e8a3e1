/**
 * A standalone subgraph behind the front of the gateway: the same transports without WebSockets, the same limits, the same errors. See
 * standalone-engine.ts.
 *
 * Admission bounds the operations that run at once (limits/admission.ts). Calls come from a few gateways, and each gateway's address stands
 * for all of its clients. No rate per address can be right for all of them. Viewers take turns if the gateway names them.
 *
 * Rate limits do not count calls with a gateway's identity header (identity-header.ts): the gateway has counted its clients already, in the
 * same windows if both use one Redis.
 *
 * Ids of automatic persisted queries work as on the gateway. Manifests do not apply: they hold operations of clients, and a subgraph
 * receives the fetches of a gateway.
 */
import { GraphQLError, type GraphQLSchema } from 'graphql'
import { systemClock } from '../../core/clock.ts'
import type { Config } from '../../config/config.ts'
import type { ErrorCode } from '../../core/errors.ts'
import type { Viewer } from '../../core/viewer.ts'
import { callerKey } from '../request/caller.ts'
import type { Engine } from '../operation/engine.ts'
import type { Collaborators } from '../request/front.ts'
import { IDENTITY_HEADER } from '../identity/identity-header.ts'
import { makeAdmission } from '../limits/admission.ts'
import { makePersisted } from '../persisted/persisted.ts'
import type { RateLimits } from '../limits/rate-limits.ts'
import { makeServer, type GatewayServer, type ServerOptions } from '../doors/server.ts'
import { makeStandaloneEngine, type Execute, type StandaloneEngineOptions } from './standalone-engine.ts'

export type StandaloneServerOptions = ServerOptions & StandaloneEngineOptions & { readonly persisted: Config['persisted'] }

/** A schema with its SDL and the function that runs its operations. */
export type Served = { readonly schema: GraphQLSchema; readonly sdl: string; readonly execute: Execute }

export type StandaloneServer = GatewayServer & {
  /** Operations are prepared for this schema from now on. Those that are prepared end on the schema before. */
  swap(next: Served): void
}

export function makeStandaloneServer(
  schema: GraphQLSchema,
  execute: Execute,
  options: StandaloneServerOptions,
  collaborators: Collaborators,
): StandaloneServer {
  const admission = makeAdmission(ADMISSION)
  const callers = new WeakMap<object, string>()
  const admitted =
    (run: Execute): Execute =>
    async (document, variables, context, cost) => {
      const leave = await admission.enter(callers.get(context) ?? '', cost)
      if (leave === undefined) return { errors: [tooMuchWaits()] }
      try {
        return await run(document, variables, context, cost)
      } finally {
        leave()
      }
    }
  const engineOf = (served: Served): Engine =>
    makeStandaloneEngine(served.schema, admitted(served.execute), { ...options, sdl: served.sdl })
  const engine = engineOf({ schema, sdl: options.sdl, execute })
  const { mode } = options.persisted
  const persisted = makePersisted(
    engine,
    { ...ANY_TEXT, mode: mode === 'off' ? 'off' : 'apq', tokensMax: options.tokensMax },
    collaborators.log,
    collaborators.registry,
    systemClock,
    options.memory,
  )
  const server = makeServer(
    engine,
    { ...options, atRoot: true, webSockets: false },
    {
      ...withoutCountingGateways(collaborators),
      persisted,
      makeContext(viewer, lasting, caller) {
        const context = collaborators.makeContext(viewer, lasting, caller)
        callers.set(context, callerKey({ viewer, address: caller.address }))
        return context
      },
    },
  )
  return {
    listen: server.listen,
    swap: (next) => void Object.assign(engine, engineOf(next)),
    async close() {
      await server.close()
      await persisted.close()
    },
  }
}

const ANY_TEXT = { clients: {}, manifests: [], watchEveryMs: 0, report: undefined, reportMax: 1 }

/** A point holds about a kilobyte. */
const ADMISSION = { pointsMax: 20_000, waitingMax: 100_000, smallMax: 500 }
const RETRY_AFTER_MS = 1_000

function tooMuchWaits(): GraphQLError {
  return new GraphQLError('too many large operations wait at this subgraph: try again in 1 s, or ask for less at once', {
    extensions: { code: 'RATE_LIMITED' satisfies ErrorCode, retryAfterMs: RETRY_AFTER_MS },
  })
}

const FREE = { spent() {} }

/** Viewers that a gateway named are recognized by object identity: each object is made for one kind of credentials. */
function withoutCountingGateways(collaborators: Collaborators): Collaborators {
  const { identify, limits, preparing } = collaborators
  const named = new WeakSet<Viewer>()
  const isNamed = ({ viewer }: { viewer: Viewer | undefined }): boolean => viewer !== undefined && named.has(viewer)
  const counting: RateLimits | undefined = limits && {
    ...limits,
    waiting: (caller, claims) => (isNamed(caller) ? undefined : limits.waiting(caller, claims)),
    spend: (caller, cost) => (isNamed(caller) ? undefined : limits.spend(caller, cost)),
  }
  return {
    ...collaborators,
    limits: counting,
    preparing: preparing && { take: (caller, length) => (isNamed(caller) ? FREE : preparing.take(caller, length)) },
    async identify(credentials) {
      const viewer = await identify(credentials)
      if (viewer !== undefined && credentials[IDENTITY_HEADER] !== undefined) named.add(viewer)
      return viewer
    },
  }
}
