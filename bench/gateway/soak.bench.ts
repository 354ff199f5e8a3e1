/**
 * Does the gateway leak memory? It gets 100,000 different operations over HTTP, against one subgraph in its process and one
 * behind HTTP. Meanwhile the supergraph reloads ten times under load. Every operation is parsed, validated, planned and compiled,
 * and every reload replaces an engine. All of that memory must be free afterwards.
 *
 *   npm run bench -- soak [--quick]
 *
 * Memory is the anonymous part of the resident set of the gateway's process, after a forced collection and the release of old
 * engines. It is compared with the value after the first tenth of the operations and one reload, when caches are full.
 */
import { buildSubgraphSchema } from '@apollo/subgraph'
import { parse } from 'graphql'
import { createHandler } from 'graphql-http/lib/use/http'
import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { Pool } from 'undici'
import type { BenchOptions, Measure } from '../support/report.ts'
import type { GatewayMessage } from './soak/gateway.ts'
import { isRight, operationOf, remoteSdl } from './soak/graph.ts'

const AT_MOST = { target: 1.15, atMost: true }
const CONNECTIONS = 16
const RELOADS = 10
const RELOAD_MAX_MS = 30_000
/** V8's young generation has its full size from the start. Otherwise its growth would count as a leak. */
const FLAGS = ['--expose-gc', '--min-semi-space-size=64', '--max-semi-space-size=64']
const MEGABYTE = 1_048_576

type State = Extract<GatewayMessage, { kind: 'state' }>

export async function bench({ quick, progress }: BenchOptions): Promise<Measure[]> {
  const [operations, warmUp, reloads] = quick ? [5_000, 2_000, 2] : [100_000, 10_000, RELOADS]
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-soak-'))
  const partner = await startPartner()
  const schema = join(folder, 'videos.graphql')
  const supergraph = join(folder, 'supergraph.yaml')
  writeFileSync(schema, remoteSdl(0))
  const url = `http://127.0.0.1:${(partner.address() as AddressInfo).port}/`
  writeFileSync(supergraph, JSON.stringify({ subgraphs: { videos: { routing_url: url, schema: { file: 'videos.graphql' } } } }))
  const gateway = fork(new URL('soak/gateway.ts', import.meta.url), [supergraph], { execArgv: FLAGS })
  try {
    const { url } = (await nextMessage(gateway, 'listening')) as { url: string }
    const load = makeLoad(url)
    let round = 0
    const reload = async (): Promise<void> => {
      const { hash } = await stateOf(gateway, false)
      round += 1
      writeFileSync(schema, remoteSdl(round))
      const deadline = Date.now() + RELOAD_MAX_MS
      while ((await stateOf(gateway, false)).hash === hash) {
        if (Date.now() > deadline) throw new Error('the gateway did not take the new supergraph')
        await wait(20)
      }
    }
    progress(`soak: warming up with ${warmUp} operations`)
    await Promise.all([load.run(warmUp), reload()])
    const before = await settledState(gateway)
    let peak = before.anonymousBytes
    const startedAt = performance.now()
    const part = Math.ceil((operations - warmUp) / reloads)
    for (let done = 0; done < reloads; done += 1) {
      await Promise.all([load.run(Math.min(part, operations - load.sent())), reload()])
      peak = Math.max(peak, (await stateOf(gateway, false)).anonymousBytes)
      progress(`soak: ${load.sent()} operations, ${done + 1} reloads, ${Math.round(peak / MEGABYTE)} MB at most`)
    }
    const seconds = (performance.now() - startedAt) / 1_000
    const after = await settledState(gateway)
    await load.close()
    return [
      { metric: 'distinct operations', value: load.sent(), unit: '', target: operations },
      { metric: 'reloads after warm-up', value: reloads, unit: '' },
      { metric: 'requests that failed', value: load.failed(), unit: '', target: 0, atMost: true },
      { metric: 'anonymous memory after warm-up', value: before.anonymousBytes / MEGABYTE, unit: 'MB' },
      { metric: 'anonymous memory at most', value: peak / MEGABYTE, unit: 'MB' },
      { metric: 'anonymous memory at the end', value: after.anonymousBytes / MEGABYTE, unit: 'MB' },
      // A short run ends before allocators reach their size, so it judges only the ratio of the heap.
      { metric: 'end / after warm-up', value: after.anonymousBytes / before.anonymousBytes, unit: '', ...(quick ? {} : AT_MOST) },
      { metric: 'heap, end / after warm-up', value: after.heapBytes / before.heapBytes, unit: '', ...AT_MOST },
      { metric: 'engines at the end', value: after.engines, unit: '', target: 1, atMost: true },
      { metric: 'operations per second', value: (load.sent() - warmUp) / seconds, unit: '/s' },
      { metric: 'slowest request', value: load.slowestMs(), unit: 'ms' },
    ]
  } finally {
    gateway.kill()
    partner.closeAllConnections()
    partner.close()
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Sends each operation once and checks every answer. */
function makeLoad(url: string) {
  const { origin, pathname } = new URL(url)
  const pool = new Pool(origin, { connections: CONNECTIONS })
  let next = 0
  let failed = 0
  let slowestMs = 0

  async function sendOne(): Promise<void> {
    const operation = operationOf(next++)
    const startedAt = performance.now()
    const body = JSON.stringify({ query: operation.query })
    const request = { path: pathname, method: 'POST' as const, headers: { 'content-type': 'application/json' }, body }
    const right = await pool.request(request).then(
      async (response) => isRight(operation, await response.body.text()),
      () => false,
    )
    if (!right) failed += 1
    slowestMs = Math.max(slowestMs, performance.now() - startedAt)
  }
  return {
    async run(count: number): Promise<void> {
      const end = next + count
      await Promise.all(
        Array.from({ length: CONNECTIONS }, async () => {
          while (next < end) await sendOne()
        }),
      )
    },
    sent: () => next,
    failed: () => failed,
    slowestMs: () => slowestMs,
    close: () => pool.close(),
  }
}

/** The state after a garbage collection and the release of old engines. */
async function settledState(gateway: ChildProcess): Promise<State> {
  for (let round = 0; (await stateOf(gateway, false)).engines > 1 && round < 100; round += 1) await wait(100)
  await stateOf(gateway, true)
  await wait(1_000)
  return stateOf(gateway, true)
}

async function stateOf(gateway: ChildProcess, collect: boolean): Promise<State> {
  const answer = nextMessage(gateway, 'state')
  gateway.send({ collect })
  return (await answer) as State
}

function nextMessage(child: ChildProcess, kind: GatewayMessage['kind']): Promise<GatewayMessage> {
  return new Promise((resolve, reject) => {
    const end = (code: number | null) => reject(new Error(`the gateway of the benchmark ended with code ${code}`))
    const listen = (message: GatewayMessage) => {
      if (message.kind !== kind) return
      child.off('message', listen).off('exit', end)
      resolve(message)
    }
    child.on('message', listen).once('exit', end)
  })
}

async function startPartner(): Promise<Server> {
  const resolvers = {
    Query: { video: (_: unknown, { id }: { id: string }) => ({ id }) },
    Video: { title: ({ id }: { id: string }) => `title of ${id}`, author: () => ({ name: 'Ada', avatar: 'a.png' }) },
  }
  const schema = buildSubgraphSchema([{ typeDefs: parse(remoteSdl(RELOADS + 1)), resolvers }])
  const handle = createHandler({ schema })
  const server = createServer((request, response) => void handle(request, response))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return server
}
