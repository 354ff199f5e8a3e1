/** A subgraph alone, in this process: any schema, on its own port. */
import { Registry } from '@prometheus-io/client'
import type { GraphQLSchema } from 'graphql'
import { pino } from 'pino'
import { systemClock } from '../../core/clock.ts'
import { makeConfig } from '../../config/config.ts'
import { makeJudge } from '../../gateway/limits/judge.ts'
import type { RequestContext } from '../../gateway/operation/prepared-operation.ts'
import { makeStandaloneServer, type StandaloneServerOptions } from '../../gateway/standalone/standalone-server.ts'
import type { Viewer } from '../../core/viewer.ts'
import { makeIdentify } from '../../gateway/identity/identify.ts'
import { startStandalone, TRACE_HEADER } from '../../subgraphs/standalone.ts'

export type StartedAlone = {
  url: string
  /** The size of its log in bytes. */
  logged(): number
  stop(): Promise<void>
}

type Made = RequestContext & { readonly forwarded?: Readonly<Record<string, string>> | undefined }

/** Default settings, in development: x-viewer-id names the viewer. */
export async function startAlone(
  schema: GraphQLSchema,
  makeContext: (viewer: Viewer | undefined) => RequestContext = () => ({}),
  options: Partial<StandaloneServerOptions> = {},
): Promise<StartedAlone> {
  const { server, persisted } = makeConfig([])
  let logged = 0
  const apollo = await startStandalone(schema)
  const alone = makeStandaloneServer(
    schema,
    (document, variables, context: Made) => apollo.execute(document, variables, context, context.forwarded?.[TRACE_HEADER]),
    {
      ...server,
      port: 0,
      sdl: 'type Query { none: Int }',
      tokensMax: server.operationTokensMax,
      judge: makeJudge(server),
      persisted,
      ...options,
    },
    {
      identify: makeIdentify({}, 'development', systemClock, { subgraph: 'alone' }),
      operationCostMax: server.operationCostMax,
      forwardHeaders: [TRACE_HEADER],
      makeContext: (viewer, _lasting, { forwarded }) => ({ ...makeContext(viewer), forwarded }) as Made,
      ready: () => Promise.resolve({ ok: true, stores: {} }),
      log: pino({ level: 'info' }, { write: (line: string) => void (logged += line.length) }),
      registry: new Registry(),
    },
  )
  const { url } = await alone.listen()
  return {
    url: `${url}/`,
    logged: () => logged,
    async stop() {
      await alone.close()
      await apollo.stop()
    },
  }
}
