/** Subgraphs behind the gateway of this process: ours in it, partners' by their addresses; see gateway/supergraph/. */
import type { Registry } from '@prometheus-io/client'
import type { GraphQLSchema } from 'graphql'
import type { Logger } from 'pino'
import { systemClock } from '../core/clock.ts'
import type { Config } from '../core/config.ts'
import type { Degraded } from '../core/degraded.ts'
import { makeAddressOf } from '../gateway/addresses.ts'
import { makeJudge } from '../gateway/cost.ts'
import { makeSubgraphHeaders } from '../gateway/identity-header.ts'
import { makeRateLimits } from '../gateway/rate-limits.ts'
import { checkPersisted } from '../gateway/persisted/fits-graph.ts'
import { makeObserver } from '../gateway/observed.ts'
import { makePersisted } from '../gateway/persisted/persisted.ts'
import { makeServer, type GatewayServer } from '../gateway/server.ts'
import { openSupergraph } from '../gateway/supergraph/open.ts'
import { findTracing, traceHeaders } from '../gateway/tracing.ts'
import { remoteTransport } from '../gateway/transports/remote.ts'
import { makeIdentify } from '../gateway/viewer.ts'
import type { RequestLoaders } from '../loaders/request.ts'
import { openCountingStore } from '../stores/open.ts'
import { makeReadiness, type AskedStores } from './readiness.ts'
import { environment } from './settings.ts'

type ServedSubgraph = {
  name: string
  sdl: string
  schema: GraphQLSchema
  makeLoaders(degraded: Degraded, lasting: boolean): Partial<RequestLoaders>
}

export type Serving = GatewayServer & {
  /** Looks at the supergraph now. Never rejects. */
  reload(reason: string): Promise<unknown>
}

/** Rejects with CONFIG_INVALID if there is no supergraph to serve. */
export async function serve(
  config: Config,
  subgraphs: readonly ServedSubgraph[],
  stores: AskedStores,
  registry: Registry,
  log: Logger,
  metricsOfAll?: () => Promise<string>,
): Promise<Serving> {
  const { server } = config
  const { errorCodes: remoteErrorCodes, ...remote } = config.remote
  const supergraph = await openSupergraph(
    subgraphs,
    {
      path: server.supergraph,
      ...config.supergraph,
      environment,
      engine: {
        compiledMax: server.compiledMax,
        tokensMax: server.operationTokensMax,
        listSizeAssumed: server.listSizeAssumed,
        introspection: server.introspection,
        judge: makeJudge(server),
      },
    },
    {
      makeRemote: (name, url) =>
        remoteTransport({
          ...remote,
          name,
          url,
          headers: makeSubgraphHeaders(config.auth.identity, name),
          traceHeaders,
          report({ outcome, subgraph, kind, tries, error }) {
            if (outcome === 'failed') log.warn({ err: error, subgraph, kind, tries }, 'a subgraph did not answer')
          },
        }),
      observe: makeObserver(registry, findTracing()),
      log,
      registry,
      clock: systemClock,
    },
  )
  const counting = openCountingStore(config)
  const limits = makeRateLimits(config.limits, counting, log)
  const persistedOptions = { ...config.persisted, tokensMax: server.operationTokensMax }
  const persisted = makePersisted(supergraph.engine, persistedOptions, log, registry, systemClock)
  supergraph.addCheck(checkPersisted(persisted, supergraph.engine))
  // Half of the time of a shutdown: whoever holds a request open must not keep the flush from running.
  const gateway = makeServer(
    supergraph.engine,
    { ...server, drainMaxMs: server.drainMaxMs / 2 },
    {
      identify: makeIdentify(config.auth, server.mode, systemClock, { log }),
      limits,
      addressOf: makeAddressOf(server.trustProxy),
      operationCostMax: server.operationCostMax,
      forwardHeaders: server.forwardHeaders,
      remoteErrorCodes,
      makeContext(viewer, lasting, { forwarded }) {
        const degraded: Degraded = new Set()
        return {
          viewer,
          forwarded,
          degraded,
          loaders: Object.assign({}, ...subgraphs.map((each) => each.makeLoaders(degraded, lasting))) as RequestLoaders,
        }
      },
      ready: makeReadiness(stores, systemClock, config.businesses),
      log,
      registry,
      persisted,
      ...(metricsOfAll === undefined ? {} : { metricsOfAll }),
    },
  )
  if (server.supergraph !== undefined) process.on('SIGHUP', () => void supergraph.reload('SIGHUP'))
  return {
    ...gateway,
    reload: supergraph.reload,
    async close() {
      await gateway.close()
      await supergraph.close()
      counting?.close()
      await persisted.close()
    },
  }
}
