/** Serves one subgraph of this process behind the front of the gateway; Apollo Server runs its operations. */
import type { Registry } from '@prometheus-io/client'
import type { GraphQLSchema } from 'graphql'
import type { Logger } from 'pino'
import { systemClock } from '../core/clock.ts'
import type { Config } from '../core/config.ts'
import type { Degraded } from '../core/degraded.ts'
import { makeAddressOf } from '../gateway/addresses.ts'
import { makeJudge } from '../gateway/cost.ts'
import { openPreparingLimit } from '../gateway/limits/preparing-limit.ts'
import { makeClientMemory } from '../gateway/memory/client-memory.ts'
import { addMemoryMetrics } from '../gateway/memory/metrics.ts'
import type { RequestContext } from '../gateway/prepared.ts'
import { limitsInForce } from '../gateway/limits/limits-in-force.ts'
import { makeRateLimits } from '../gateway/rate-limits.ts'
import { makeStandaloneServer } from '../gateway/standalone/serve.ts'
import type { GatewayServer } from '../gateway/server.ts'
import { makeIdentify } from '../gateway/viewer.ts'
import { openCountingStore } from '../stores/open.ts'
import { startStandalone, TRACE_HEADER } from '../subgraphs/standalone.ts'
import { makeReadiness, type AskedStores } from './readiness.ts'

type ServedSubgraph = {
  name: string
  sdl: string
  schema: GraphQLSchema
  makeLoaders(degraded: Degraded): object
}

type Context = RequestContext & { readonly forwarded?: Readonly<Record<string, string>> | undefined }

export async function serveAlone(
  served: ServedSubgraph,
  config: Config,
  stores: AskedStores,
  registry: Registry,
  log: Logger,
): Promise<GatewayServer> {
  const { server } = config
  const apollo = await startStandalone(served.schema)
  const counting = openCountingStore(config)
  const memory = makeClientMemory(server.clientMemoryBytesMax)
  addMemoryMetrics(registry, memory)
  const alone = makeStandaloneServer(
    served.schema,
    (document, variables, context: Context) => apollo.execute(document, variables, context, context.forwarded?.[TRACE_HEADER]),
    {
      ...server,
      // Half of the shutdown time, as for the gateway: the flush needs the rest.
      drainMaxMs: server.drainMaxMs / 2,
      drainDelayMs: server.drainDelayMs ?? (server.mode === 'production' ? 2_000 : 0),
      sdl: served.sdl,
      tokensMax: server.operationTokensMax,
      judge: makeJudge(server),
      persisted: config.persisted,
      memory,
    },
    {
      identify: makeIdentify(config.auth, server.mode, systemClock, { subgraph: served.name, log }),
      limits: makeRateLimits(limitsInForce(config), counting, log),
      preparing: openPreparingLimit(config, systemClock),
      addressOf: makeAddressOf(server.trustProxy),
      operationCostMax: server.operationCostMax,
      forwardHeaders: [TRACE_HEADER],
      makeContext(viewer, _lasting, { forwarded }) {
        const degraded: Degraded = new Set()
        return { viewer, forwarded, degraded, loaders: served.makeLoaders(degraded) }
      },
      ready: makeReadiness(stores, systemClock, config.businesses),
      log,
      registry,
    },
  )
  return {
    listen: alone.listen,
    async close() {
      await alone.close()
      await apollo.stop()
      counting?.close()
    },
  }
}
