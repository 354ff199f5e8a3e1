/** Serves one subgraph behind the front of the gateway. Apollo Server runs its operations. */
import type { GraphQLSchema } from 'graphql'
import type { Logger } from 'pino'
import type { Degraded } from '../../core/outage/degraded.ts'
import { makeJudge } from '../../gateway/limits/judge.ts'
import type { RequestContext } from '../../gateway/operation/prepared-operation.ts'
import { graphOf } from '../../config/businesses.ts'
import type { Config } from '../../config/config.ts'
import { systemClock, type Clock, type Timer } from '../../core/clock.ts'
import { makeWorker } from '../../core/worker.ts'
import type { Execute } from '../../gateway/standalone/standalone-engine.ts'
import { makeStandaloneServer } from '../../gateway/standalone/standalone-server.ts'
import type { GatewayServer } from '../../gateway/doors/server.ts'
import { publishedSdl } from '../../subgraphs/published-sdl.ts'
import { startStandalone, TRACE_HEADER, type Standalone } from '../../subgraphs/standalone.ts'
import { openFront, type FrontParts } from './front.ts'

type ServedSubgraph = {
  name: string
  sdl: string
  schema: GraphQLSchema
  makeLoaders(degraded: Degraded): object
}

type Context = RequestContext & { readonly forwarded?: Readonly<Record<string, string>> | undefined }

/** Operations under way end on the Apollo Server before, which is stopped after this time. */
const LINGER_MS = 60_000

/** The schema follows the businesses. A new one has an Apollo Server of its own. */
export async function serveAlone(served: ServedSubgraph, parts: FrontParts): Promise<GatewayServer> {
  const { live, log } = parts
  const { config } = live
  const { server } = config
  const graph = graphOf(config.businesses)
  let { sdl, apollo, ...first } = await open(served, server)
  const front = await openFront(parts, served.name)
  const replaced = makeReplacedServers(systemClock, log)
  const alone = makeStandaloneServer(
    first.schema,
    first.execute,
    {
      ...front.settings,
      apiSdl: () => sdl,
      subgraphSdls: () => new Map([[served.name, sdl]]),
      sdl: first.sdlOfCosts,
      tokensMax: server.operationTokensMax,
      judge: makeJudge(server),
      persisted: config.persisted,
      memory: front.memory,
    },
    {
      ...front.collaborators,
      forwardHeaders: [TRACE_HEADER],
      makeContext(viewer, _lasting, { forwarded }) {
        const degraded: Degraded = new Set()
        return { viewer, forwarded, degraded, loaders: served.makeLoaders(degraded) }
      },
    },
  )

  const replacing = makeWorker(
    systemClock,
    replace,
    () => undefined,
    (err) => log.error({ err }, 'the schema could not be replaced'),
  )
  const unfollow = live.onChange(
    ({ businesses }) => graphOf(businesses),
    () => void replacing.wake(),
    graph,
  )

  async function replace(): Promise<void> {
    const next = await open(served, server)
    replaced.add(apollo)
    ;({ sdl, apollo } = next)
    alone.swap({ schema: next.schema, sdl: next.sdlOfCosts, execute: next.execute })
  }

  return {
    listen: alone.listen,
    async close() {
      unfollow()
      await replacing.stop()
      await alone.close()
      replaced.add(apollo)
      await replaced.stop()
      front.close()
    },
  }
}

/** They stop when their time is over, or all at once. A failure is logged. */
export function makeReplacedServers(clock: Clock, log: Pick<Logger, 'error'>) {
  const servers = new Map<Pick<Standalone, 'stop'>, Timer>()

  async function end(server: Pick<Standalone, 'stop'>): Promise<void> {
    servers.get(server)?.cancel()
    try {
      await server.stop()
    } catch (err) {
      log.error({ err }, 'an Apollo Server could not be stopped')
    } finally {
      servers.delete(server)
    }
  }

  return {
    add(server: Pick<Standalone, 'stop'>): void {
      servers.set(
        server,
        clock.after(LINGER_MS, () => void end(server)),
      )
    },
    async stop(): Promise<void> {
      await Promise.all([...servers.keys()].map(end))
    },
  }
}

/** `sdlOfCosts`: with comments and directives that the published `sdl` may lack. */
async function open(served: ServedSubgraph, server: Config['server']) {
  const { schema, sdl: sdlOfCosts } = served
  const sdl = publishedSdl(served, server)
  const apollo = await startStandalone(schema, sdl)
  const execute: Execute = (document, variables, context: Context) =>
    apollo.execute(document, variables, context, context.forwarded?.[TRACE_HEADER])
  return { schema, sdl, sdlOfCosts, apollo, execute }
}
