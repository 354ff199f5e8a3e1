/** The gateway of the soak, in its own process: `node --expose-gc bench/gateway/soak/gateway.ts SUPERGRAPH_FILE`. */
import { buildSubgraphSchema } from '@apollo/subgraph'
import { Registry } from '@prometheus-io/client'
import { parse } from 'graphql'
import { readFileSync } from 'node:fs'
import { pino } from 'pino'
import { systemClock } from '../../../core/clock.ts'
import { makeClientMemory } from '../../../gateway/memory/client-memory.ts'
import { GRAPHQL_PATH, makeServer } from '../../../gateway/doors/server.ts'
import { openSupergraph } from '../../../gateway/supergraph/supergraph.ts'
import { remoteTransport } from '../../../gateway/transports/remote-transport.ts'
import { LOCAL_SDL } from './graph.ts'

export type GatewayMessage =
  | { kind: 'listening'; url: string }
  | { kind: 'state'; hash: string; engines: number; anonymousBytes: number; heapBytes: number }

const SERVER = { host: '127.0.0.1', port: 0, mode: 'production', bodyBytesMax: 1_048_576, drainMaxMs: 0 } as const
const MEMORY_BYTES_MAX = 16_777_216
const LINGER_MS = 1_000

const resolvers = {
  Query: {
    watched: (_: unknown, { first }: { first: number }) => Array.from({ length: first }, (_, index) => ({ id: String(index) })),
  },
  Video: { position: () => 1, duration: () => 2, device: () => 'tv' },
}

async function start(path: string): Promise<void> {
  const log = pino({ level: 'warn' })
  const registry = new Registry()
  const ours = { name: 'history', sdl: LOCAL_SDL, schema: buildSubgraphSchema([{ typeDefs: parse(LOCAL_SDL), resolvers }]) }
  const supergraph = await openSupergraph(
    [ours],
    {
      path,
      pollMs: 0,
      fetchTimeoutMs: 1_000,
      lingerMs: LINGER_MS,
      engine: { memory: makeClientMemory(MEMORY_BYTES_MAX), tokensMax: 5_000 },
    },
    { makeRemote: (name, url) => remoteTransport({ name, url }), log, registry, clock: systemClock },
  )
  const server = makeServer(supergraph.engine, SERVER, {
    identify: () => Promise.resolve(undefined),
    makeContext: () => ({}),
    ready: () => Promise.resolve({ ok: true, stores: {} }),
    log,
    registry,
  })
  const send = (message: GatewayMessage) => process.send?.(message)
  process.on('message', (message: { collect: boolean }) => {
    if (message.collect) for (let round = 0; round < 3; round += 1) globalThis.gc?.()
    send({
      kind: 'state',
      hash: supergraph.current().hash,
      engines: supergraph.engine.engines(),
      anonymousBytes: anonymousBytes(),
      heapBytes: process.memoryUsage().heapUsed,
    })
  })
  process.on('disconnect', () => process.exit())
  send({ kind: 'listening', url: (await server.listen()).url + GRAPHQL_PATH })
}

/** The anonymous memory of this process. Mapped pages of files are excluded, because other processes change them. */
function anonymousBytes(): number {
  try {
    return Number(/RssAnon:\s+(\d+) kB/.exec(readFileSync('/proc/self/status', 'utf8'))?.[1]) * 1_024
  } catch {
    return process.memoryUsage().rss
  }
}

if (process.argv[2] !== undefined) await start(process.argv[2])
