/** The whole gateway around the feed's engine, for the feed benchmark: front, viewer, metrics, log, as in production. */
import { Registry } from '@prometheus-io/client'
import { pino } from 'pino'
import type { Engine } from '../../gateway/operation/engine.ts'
import { GRAPHQL_PATH, makeServer } from '../../gateway/doors/server.ts'
import { makeFeedContext } from './feed-graph.ts'

const SERVER = { host: '127.0.0.1', port: 0, mode: 'production', bodyBytesMax: 1_048_576, drainMaxMs: 0 } as const

export async function startFeedGateway(engine: Engine): Promise<string> {
  const server = makeServer(engine, SERVER, {
    identify: () => Promise.resolve(undefined),
    makeContext: makeFeedContext,
    ready: () => Promise.resolve({ ok: true, stores: {} }),
    log: pino({ level: 'silent' }),
    registry: new Registry(),
  })
  const { url } = await server.listen()
  return url + GRAPHQL_PATH
}
