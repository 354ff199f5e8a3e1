/** Serves one subgraph behind the front of the gateway. Apollo Server runs its operations. */
import type { GraphQLSchema } from 'graphql'
import type { Degraded } from '../../core/outage/degraded.ts'
import { makeJudge } from '../../gateway/limits/judge.ts'
import type { RequestContext } from '../../gateway/operation/prepared-operation.ts'
import { makeStandaloneServer } from '../../gateway/standalone/standalone-server.ts'
import type { GatewayServer } from '../../gateway/doors/server.ts'
import { publishedSdl } from '../../subgraphs/published-sdl.ts'
import { startStandalone, TRACE_HEADER } from '../../subgraphs/standalone.ts'
import { openFront, type FrontParts } from './front.ts'

type ServedSubgraph = {
  name: string
  sdl: string
  schema: GraphQLSchema
  makeLoaders(degraded: Degraded): object
}

type Context = RequestContext & { readonly forwarded?: Readonly<Record<string, string>> | undefined }

export async function serveAlone(served: ServedSubgraph, parts: FrontParts): Promise<GatewayServer> {
  const { config } = parts.live
  const { server } = config
  const sdl = publishedSdl(served, server)
  const apollo = await startStandalone(served.schema, sdl)
  const front = openFront(parts, served.name)
  const alone = makeStandaloneServer(
    served.schema,
    (document, variables, context: Context) => apollo.execute(document, variables, context, context.forwarded?.[TRACE_HEADER]),
    {
      ...front.settings,
      apiSdl: sdl,
      subgraphSdls: new Map([[served.name, sdl]]),
      sdl: served.sdl,
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
  return {
    listen: alone.listen,
    async close() {
      await alone.close()
      await apollo.stop()
      front.close()
    },
  }
}
