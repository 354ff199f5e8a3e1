/**
 * `node bench/remote/gateway.ts KIND SUPERGRAPH_FILE PORT`: one of our gateways over remote subgraphs, in a process of its
 * own; prints `ready` when it listens. KIND:
 *   ours, ours-apart        the whole gateway as in production; identical calls under way are one, or each is made
 *   floor, floor-apart      the least that anything in JavaScript does: see floor.ts
 */
import { readFileSync } from 'node:fs'
import { Registry } from '@prometheus-io/client'
import { pino } from 'pino'
import { makeEngine } from '../../gateway/engine.ts'
import { makeServer } from '../../gateway/server.ts'
import { remoteTransport } from '../../gateway/transports/remote.ts'
import { startFloor } from './floor.ts'
import { NAMES } from './graph.ts'

const [kind = '', file = '', port = ''] = process.argv.slice(2)
const supergraph = readFileSync(file, 'utf8')
const dedupe = !kind.endsWith('-apart')

function urlOf(name: string): string {
  const url = new RegExp(`name: "${name}", url: "([^"]+)"`).exec(supergraph)?.[1]
  if (url === undefined) throw new Error(`the supergraph has no address for ${name}`)
  return url
}

async function startOurs(): Promise<void> {
  const subgraphs = NAMES.map((name) => ({ name, transport: remoteTransport({ name, url: urlOf(name), dedupe }) }))
  const engine = makeEngine(supergraph, subgraphs, { compiledMax: 100, tokensMax: 5_000 })
  const server = makeServer(
    engine,
    { host: '127.0.0.1', port: Number(port), mode: 'production', bodyBytesMax: 1_048_576, drainMaxMs: 0 },
    {
      identify: () => Promise.resolve(undefined),
      makeContext: () => ({}),
      ready: () => Promise.resolve({ ok: true, stores: {} }),
      log: pino({ level: 'silent' }),
      registry: new Registry(),
    },
  )
  await server.listen()
}

await (kind.startsWith('ours') ? startOurs() : startFloor({ supergraph, port: Number(port), dedupe, urlOf }))
// Ends by itself, so that --cpu-prof can write.
process.once('SIGTERM', () => process.exit())
console.log('ready')
