/**
 * The floor: bare node:http. undici sends the calls of the plan as constant texts, in the plan's waves. Their answers are parsed,
 * and the constant answer is serialized for each request. It has no plan, executor, projection or limits.
 */
import { createServer } from 'node:http'
import { Pool } from 'undici'
import { makeEngine } from '../../../gateway/operation/engine.ts'
import { localTransport } from '../../../gateway/transports/local-transport.ts'
import type { Transport } from '../../../gateway/transports/transport.ts'
import { NAMES, QUERY, remoteSchema } from './graph.ts'
import type { RemoteName } from './graph.ts'

type Call = { name: RemoteName; body: string; wave: number }
export type FloorOptions = { supergraph: string; port: number; dedupe: boolean; addresses: ReadonlyMap<string, string> }

export async function startFloor({ supergraph, port, dedupe, addresses }: FloorOptions): Promise<void> {
  const { calls, answer } = await recordCalls(supergraph)
  const waves = [...new Set(calls.map(({ wave }) => wave))].map((wave) => calls.filter((call) => call.wave === wave))
  const urls = new Map([...addresses].map(([name, url]) => [name, new URL(url)]))
  const pools = new Map([...urls].map(([name, url]) => [name, { pool: new Pool(url.origin, { connections: 64 }), path: url.pathname }]))
  const underWay = new Map<string, Promise<unknown>>()

  async function send({ name, body }: Call): Promise<unknown> {
    const subgraph = pools.get(name)
    if (subgraph === undefined) throw new Error(`there is no pool for ${name}`)
    const headers = { 'content-type': 'application/json' }
    const response = await subgraph.pool.request({ method: 'POST', path: subgraph.path, headers, body })
    return JSON.parse(await response.body.text())
  }

  function share(call: Call): Promise<unknown> {
    const known = underWay.get(call.body)
    if (known !== undefined) return known
    const begun = send(call).finally(() => underWay.delete(call.body))
    underWay.set(call.body, begun)
    return begun
  }

  const server = createServer((request, response) => {
    request.resume()
    request.on('end', () => {
      void (async () => {
        for (const wave of waves) await Promise.all(wave.map(dedupe ? share : send))
        const text = JSON.stringify(answer)
        response.writeHead(200, { 'content-type': 'application/json; charset=utf-8', 'content-length': Buffer.byteLength(text) }).end(text)
      })()
    })
  })
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
}

/** The calls of the plan to the subgraphs, each with its wave, and the answer. */
async function recordCalls(supergraph: string): Promise<{ calls: Call[]; answer: unknown }> {
  const calls: Call[] = []
  let ended = 0
  const recording = (name: RemoteName): Transport => {
    const local = localTransport(remoteSchema(name))
    return {
      remote: true,
      compile(operation) {
        const fetch = local.compile(operation)
        return {
          ...fetch,
          async run(variables, context) {
            calls.push({ name, body: JSON.stringify({ query: operation.text, variables }), wave: ended })
            // Yields to the event loop, so that all calls of a wave begin before one of them ends.
            await new Promise((resolve) => setImmediate(resolve))
            const result = await fetch.run(variables, context)
            ended += 1
            return result
          },
        }
      },
    }
  }
  const engine = makeEngine(
    supergraph,
    NAMES.map((name) => ({ name, transport: recording(name) })),
    { tokensMax: 5_000 },
  )
  const operation = engine.prepare(QUERY)
  if ('errors' in operation) throw new Error(operation.errors.join('\n'))
  return { calls, answer: await operation.execute(undefined, {}) }
}
