/**
 * `node bench/gateway/remote/gateway.ts KIND SUPERGRAPH_FILE PORT`: one of our gateways over remote subgraphs, in its own process.
 * Prints `ready` when it listens. KIND:
 *   ours, ours-apart        the whole gateway, built as in cli/process/serve.ts; identical calls in flight are shared, or not
 *   ours-apart-changing     the same as ours-apart with another supergraph; likewise floor-apart-changing
 *   floor, floor-apart      the least work in JavaScript (floor.ts)
 */
import { readFileSync } from 'node:fs'
import { flushCompileCache } from 'node:module'
import { Registry } from '@prometheus-io/client'
import { pino } from 'pino'
import { boundGarbage, makeAllYoung } from '../../../cli/process/heap.ts'
import { makeConfig } from '../../../config/config.ts'
import { makeEngine } from '../../../gateway/operation/engine.ts'
import { makeSubgraphHeaders } from '../../../gateway/identity/identity-header.ts'
import { makeObserver } from '../../../gateway/transports/fetch-observer.ts'
import { makeServer } from '../../../gateway/doors/server.ts'
import { findTracing, traceHeaders } from '../../../gateway/request/tracing.ts'
import { remoteTransport } from '../../../gateway/transports/remote-transport.ts'

const [kind = '', file = '', port = ''] = process.argv.slice(2)
const supergraph = readFileSync(file, 'utf8')
const dedupe = !kind.includes('-apart')
const addresses = new Map([...supergraph.matchAll(/name: "(\w+)", url: "([^"]+)"/g)].map(([, name = '', url = '']) => [name, url]))

async function startOurs(): Promise<void> {
  boundGarbage(makeConfig([]).server.garbagePercent)
  makeAllYoung()
  const registry = new Registry()
  const observe = makeObserver(registry, findTracing())
  const subgraphs = [...addresses].map(([name, url]) => {
    const headers = makeSubgraphHeaders(undefined, name)
    return { name, transport: observe(name, remoteTransport({ name, url, dedupe, headers, traceHeaders })) }
  })
  const engine = makeEngine(supergraph, subgraphs, { tokensMax: 5_000 })
  const server = makeServer(
    engine,
    { host: '127.0.0.1', port: Number(port), mode: 'production', bodyBytesMax: 1_048_576, drainMaxMs: 0 },
    {
      identify: () => Promise.resolve(undefined),
      makeContext: () => ({}),
      ready: () => Promise.resolve({ ok: true, stores: {} }),
      log: pino({ level: 'silent' }),
      registry,
    },
  )
  await server.listen()
}

if (kind.startsWith('ours')) await startOurs()
else {
  // Loaded only here: its code to record the calls would count as memory of the other kinds.
  const { startFloor } = await import('./floor.ts')
  await startFloor({ supergraph, port: Number(port), dedupe, addresses })
}
// Node does this at a normal exit, but the benchmark kills the process.
flushCompileCache()
// SIGTERM exits normally, so that --cpu-prof can write its profile.
process.once('SIGTERM', () => process.exit())
console.log('ready')
