/** Subgraphs behind the gateway of this process. */
import type { Registry } from '@prometheus-io/client'
import type { GraphQLSchema } from 'graphql'
import type { Logger } from 'pino'
import { systemClock } from '../core/clock.ts'
import type { Config } from '../core/config.ts'
import type { Degraded } from '../core/degraded.ts'
import { makeAddressOf } from '../gateway/addresses.ts'
import { composeSupergraph } from '../gateway/compose.ts'
import { makeJudge } from '../gateway/cost.ts'
import { makeEngine } from '../gateway/engine.ts'
import { makeRateLimits } from '../gateway/rate-limits.ts'
import { makePersisted } from '../gateway/persisted/persisted.ts'
import { makeServer, type GatewayServer } from '../gateway/server.ts'
import { localTransport } from '../gateway/transports/local.ts'
import { makeIdentify } from '../gateway/viewer.ts'
import type { Loaders } from '../loaders/index.ts'
import { openCountingStore, type OpenStores } from '../stores/open.ts'
import { readiness } from './readiness.ts'

type ServedSubgraph = { name: string; sdl: string; schema: GraphQLSchema; makeLoaders(degraded: Degraded, lasting: boolean): Loaders }

export function serve(
  config: Config,
  subgraphs: readonly ServedSubgraph[],
  stores: OpenStores,
  registry: Registry,
  log: Logger,
  metricsOfAll?: () => Promise<string>,
): GatewayServer {
  const { server } = config
  const engine = makeEngine(
    composeSupergraph(subgraphs),
    subgraphs.map(({ name, schema }) => ({ name, transport: localTransport(schema) })),
    {
      compiledMax: server.compiledMax,
      tokensMax: server.operationTokensMax,
      listSizeAssumed: server.listSizeAssumed,
      introspection: server.introspection,
      judge: makeJudge(server),
    },
  )
  const counting = openCountingStore(config)
  const limits = makeRateLimits(config.limits, counting, log)
  const persisted = makePersisted(engine, { ...config.persisted, tokensMax: server.operationTokensMax }, log, registry, systemClock)
  // Half of the time of a shutdown: whoever holds a request open must not keep the flush from running.
  const gateway = makeServer(
    engine,
    { ...server, drainMaxMs: server.drainMaxMs / 2 },
    {
      identify: makeIdentify(config.auth, server.mode, systemClock, { log }),
      limits,
      addressOf: makeAddressOf(server.trustProxy),
      operationCostMax: server.operationCostMax,
      forwardHeaders: server.forwardHeaders,
      makeContext(viewer, lasting, { forwarded }) {
        const degraded: Degraded = new Set()
        return {
          viewer,
          forwarded,
          degraded,
          loaders: Object.assign({}, ...subgraphs.map((each) => each.makeLoaders(degraded, lasting))) as Loaders,
        }
      },
      ready: () => readiness(stores, systemClock),
      log,
      registry,
      persisted,
      ...(metricsOfAll === undefined ? {} : { metricsOfAll }),
    },
  )
  return {
    ...gateway,
    async close() {
      await gateway.close()
      counting?.close()
      await persisted.close()
    },
  }
}
