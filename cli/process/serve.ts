/** Serves the gateway of this process. Tidemark's subgraphs are in the process, partners' at their addresses; see gateway/supergraph/. */
import cluster from 'node:cluster'
import type { GraphQLSchema } from 'graphql'
import type { Logger } from 'pino'
import { systemClock } from '../../core/clock.ts'
import { followed, graphOf } from '../../config/businesses.ts'
import type { Config } from '../../config/config.ts'
import { liveView } from '../../config/live/live-view.ts'
import type { Degraded } from '../../core/outage/degraded.ts'
import { makeJudge } from '../../gateway/limits/judge.ts'
import { makeSubgraphHeaders } from '../../gateway/identity/identity-header.ts'
import { checkPersisted } from '../../gateway/persisted/graph-check.ts'
import { makeObserver } from '../../gateway/transports/fetch-observer.ts'
import { makePersisted } from '../../gateway/persisted/persisted.ts'
import { makeServer, type GatewayServer } from '../../gateway/doors/server.ts'
import type { ConsoleSource } from '../../gateway/pages/console-source.ts'
import type { Readiness } from '../../gateway/doors/health.ts'
import { makeReloadRetry } from '../../gateway/supergraph/reload-retry.ts'
import { openSupergraph, type Supergraph, type SupergraphParts } from '../../gateway/supergraph/supergraph.ts'
import { findTracing, traceHeaders } from '../../gateway/request/tracing.ts'
import type { RequestLoaders } from '../../loaders/request.ts'
import { publishedSdl } from '../../subgraphs/published-sdl.ts'
import { openFront, type FrontParts } from './front.ts'
import { environment } from './settings.ts'

type ServedSubgraph = {
  name: string
  sdl: string
  schema: GraphQLSchema
  makeLoaders(degraded: Degraded, lasting: boolean): Partial<RequestLoaders>
}

/** The opened parts of a role; see open-role.ts. */
type Opened = FrontParts & { subgraphs: readonly ServedSubgraph[] }

/** Makes loaders on first use: an open subscription needs none between its events, and many subscriptions need none at all. */
function lastingContext<Known extends object>(
  known: Known,
  makeLoaders: () => RequestLoaders,
): Known & { readonly loaders: RequestLoaders } {
  let loaders: RequestLoaders | undefined
  return {
    ...known,
    get loaders() {
      return (loaders ??= makeLoaders())
    },
  }
}

export type Serving = GatewayServer & {
  /** Checks the supergraph now. Never rejects. */
  reload(reason: string): Promise<unknown>
}

const ALL_PAGES = ['home', 'demo', 'console'] as const

export type ServingOptions = {
  /** With `--workers`: the metrics of all processes. */
  metricsOfAll?: () => Promise<string>
  /** The data of the console page. Default: none. */
  consoleOf?(serving: ConsoleParts): ConsoleSource
}

/** The parts of a serving process that the console shows. */
export type ConsoleParts = { supergraph: Pick<Supergraph, 'current' | 'subgraphs'>; ready(): Promise<Readiness> }

/** Rejects with CONFIG_INVALID if there is no supergraph to serve. */
export async function serve({ subgraphs, ...parts }: Opened, { metricsOfAll, consoleOf }: ServingOptions = {}): Promise<Serving> {
  const { config } = parts.live
  const { server } = config
  const { registry, log } = parts
  const front = await openFront(parts)
  const { memory } = front
  const graph = graphOf(config.businesses)
  const supergraph = await openSupergraph(
    subgraphs,
    {
      path: server.supergraph,
      ...config.supergraph,
      environment,
      engine: {
        memory,
        tokensMax: server.operationTokensMax,
        listSizeAssumed: server.listSizeAssumed,
        introspection: server.introspection,
        judge: makeJudge(server),
      },
    },
    {
      makeRemote: await remoteMaker(config, log),
      observe: makeObserver(registry, findTracing()),
      log,
      registry,
      clock: systemClock,
    },
  )
  if (cluster.worker === undefined || cluster.worker.id === 1) warnOfUnknownViewers(remoteOnesOfOurs(), config, log)
  const persistedOptions = { ...config.persisted, tokensMax: server.operationTokensMax }
  const persisted = makePersisted(supergraph.engine, persistedOptions, log, registry, systemClock, memory)
  supergraph.addCheck(checkPersisted(persisted, supergraph.engine))
  const subgraphSdls = followed(
    () => config.businesses,
    () => new Map(subgraphs.map((each) => [each.name, publishedSdl(each, server)])),
  )
  const reloading = makeReloadRetry(
    () => supergraph.reload('the live configuration changed'),
    systemClock,
    (err) => log.error({ err }, 'the graph could not be reloaded'),
  )
  const unfollow = parts.live.onChange(
    ({ businesses }) => graphOf(businesses),
    () => reloading.begin(),
    graph,
  )
  const gateway = makeServer(
    supergraph.engine,
    { ...front.settings, subgraphSdls, pages: server.pages ?? (server.mode === 'development' ? ALL_PAGES : []) },
    {
      ...front.collaborators,
      openLimits: liveView(() => config.limits),
      forwardHeaders: server.forwardHeaders,
      remoteErrorCodes: config.remote.errorCodes,
      makeContext(viewer, lasting, { forwarded }) {
        const degraded: Degraded = new Set()
        const makeLoaders = () => Object.assign({}, ...subgraphs.map((each) => each.makeLoaders(degraded, lasting))) as RequestLoaders
        if (lasting) return lastingContext({ viewer, forwarded, degraded }, makeLoaders)
        return { viewer, forwarded, degraded, loaders: makeLoaders() }
      },
      persisted,
      console: consoleOf?.({ supergraph, ready: front.collaborators.ready }),
      ...(metricsOfAll === undefined ? {} : { metricsOfAll }),
    },
  )
  function remoteOnesOfOurs(): string[] {
    const names = new Set(subgraphs.map(({ name }) => name))
    return supergraph.current().placements.flatMap(({ name, url }) => (url !== undefined && names.has(name) ? [name] : []))
  }

  if (server.supergraph !== undefined) process.on('SIGHUP', () => void supergraph.reload('SIGHUP'))
  return {
    ...gateway,
    reload: supergraph.reload,
    async close() {
      unfollow()
      const stopping = reloading.stop()
      await gateway.close()
      await supergraph.close()
      await stopping
      front.close()
      await persisted.close()
    },
  }
}

/** Without a supergraph file no subgraph is remote, and the HTTP client is not loaded. */
async function remoteMaker({ server, remote, auth }: Config, log: Logger): Promise<SupergraphParts['makeRemote']> {
  if (server.supergraph === undefined) {
    return (name) => {
      throw new Error(`the subgraph "${name}" is remote, and there is no supergraph file`)
    }
  }
  const { remoteTransport } = await import('../../gateway/transports/remote-transport.ts')
  const { errorCodes: _, ...options } = remote
  return (name, url) =>
    remoteTransport({
      ...options,
      name,
      url,
      headers: makeSubgraphHeaders(auth.identity, name),
      traceHeaders,
      report({ outcome, subgraph, kind, tries, error }) {
        if (outcome === 'failed') log.warn({ err: error, subgraph, kind, tries }, 'a subgraph did not answer')
      },
    })
}

/** A Tidemark subgraph in another process needs the viewer from the signed header, or from a forwarded token. */
function warnOfUnknownViewers(names: readonly string[], { auth, server }: Config, log: Logger): void {
  const isSigned = (auth.identity?.secret ?? auth.identity?.privateKey) !== undefined
  if (names.length === 0 || isSigned || server.forwardHeaders.includes('authorization')) return
  log.warn(
    { subgraphs: names },
    'subgraphs of Tidemark in other processes get no viewer: set auth.identity in this process and in theirs (TIDEMARK_IDENTITY_SECRET)',
  )
}
