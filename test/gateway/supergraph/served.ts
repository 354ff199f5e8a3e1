/** A gateway over a changing supergraph: a subgraph of its own, a real partner, and clients of both. */
import { buildSubgraphSchema } from '@apollo/subgraph'
import { Registry } from '@prometheus-io/client'
import { parse } from 'graphql'
import { createClient } from 'graphql-ws'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { pino } from 'pino'
import { WebSocket } from 'ws'
import { systemClock } from '../../../core/clock.ts'
import { makeServer } from '../../../gateway/doors/server.ts'
import { makeIdentify } from '../../../gateway/identity/identify.ts'
import { openSupergraph, type Supergraph, type SupergraphOptions, type SupergraphParts } from '../../../gateway/supergraph/supergraph.ts'
import { remoteTransport } from '../../../gateway/transports/remote-transport.ts'
import { LINK, VIDEOS, startPartner, type Partner } from '../../support/partner.ts'

const OURS = `${LINK}
type Query { "Watched." watched: [Video!]! "Slow." slow: Video }
type Subscription { "Ticks." ticks: Video }
type Video @key(fields: "id") { id: ID! position: Int }
`

export const ends: (() => Promise<unknown> | void)[] = []

/** Ends everything that was started, newest first. */
export async function endAll(): Promise<void> {
  for (const end of ends.splice(0).reverse()) await end()
}

export type Ticks = { emit(id: string): void; open(): number }

function makeOurs() {
  const listeners = new Set<(id: string) => void>()
  let openGate = () => {}
  let waiting = 0
  const gate = new Promise<void>((resolve) => (openGate = resolve))
  const ticks: Ticks = { emit: (id) => listeners.forEach((listener) => listener(id)), open: () => listeners.size }
  const resolvers = {
    Query: {
      watched: () => [{ id: '1' }],
      slow: async () => {
        waiting += 1
        await gate
        return { id: '9' }
      },
    },
    Subscription: { ticks: { subscribe: () => source(listeners), resolve: (id: string) => ({ id }) } },
    Video: { position: () => 7 },
  }
  return {
    ticks,
    openGate,
    waiting: () => waiting,
    subgraph: { name: 'history', sdl: OURS, schema: buildSubgraphSchema([{ typeDefs: parse(OURS), resolvers }]) },
  }
}

function source(listeners: Set<(id: string) => void>): AsyncIterableIterator<string> {
  const ready: string[] = []
  let wake: ((step: IteratorResult<string>) => void) | undefined
  const listener = (id: string) => {
    if (wake === undefined) ready.push(id)
    else wake({ done: false, value: id })
    wake = undefined
  }
  listeners.add(listener)
  return {
    next: () => {
      const value = ready.shift()
      return value === undefined ? new Promise((resolve) => (wake = resolve)) : Promise.resolve({ done: false, value })
    },
    return() {
      listeners.delete(listener)
      wake?.({ done: true, value: undefined })
      return Promise.resolve({ done: true, value: undefined })
    },
    [Symbol.asyncIterator]() {
      return this
    },
  }
}

export type Served = {
  url: string
  supergraph: Supergraph
  partner: Partner
  file: string
  ticks: Ticks
  openGate(): void
  /** Requests that have reached the gate. */
  waiting(): number
  logged: { level: number; msg: string }[]
  registry: Registry
  closedRemotes(): number
}

/** `by: file`: the partner's schema is a file. Otherwise its address is asked. */
export async function begin(
  by: 'file' | 'url',
  options: Partial<SupergraphOptions> = {},
  observe?: SupergraphParts['observe'],
): Promise<Served> {
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-reload-'))
  ends.push(() => rmSync(folder, { recursive: true, force: true }))
  const partner = await startPartner()
  ends.push(() => partner.stop())
  const file = join(folder, 'videos.graphql')
  writeFileSync(file, VIDEOS)
  const path = join(folder, 'supergraph.yaml')
  const schema = by === 'file' ? { file: 'videos.graphql' } : { subgraph_url: partner.url }
  writeFileSync(path, JSON.stringify({ subgraphs: { videos: { routing_url: partner.url, schema } } }))
  const logged: Served['logged'] = []
  const log = pino({ level: 'debug' }, { write: (line: string) => void logged.push(JSON.parse(line) as (typeof logged)[0]) })
  const registry = new Registry()
  const { ticks, openGate, waiting, subgraph } = makeOurs()
  let closed = 0
  const supergraph = await openSupergraph(
    [subgraph],
    { path, pollMs: 0, fetchTimeoutMs: 1_000, lingerMs: 0, engine: { tokensMax: 1_000 }, ...options },
    {
      makeRemote(name, url) {
        const transport = remoteTransport({ name, url })
        return { ...transport, close: () => transport.close().finally(() => (closed += 1)) }
      },
      log,
      registry,
      clock: systemClock,
      ...(observe === undefined ? {} : { observe }),
    },
  )
  const server = makeServer(
    supergraph.engine,
    { host: '127.0.0.1', port: 0, mode: 'development', bodyBytesMax: 100_000, drainMaxMs: 1_000 },
    {
      identify: makeIdentify({}, 'development'),
      makeContext: (viewer) => ({ viewer }),
      ready: async () => ({ ok: true, stores: {} }),
      log,
      registry,
    },
  )
  const { url } = await server.listen()
  ends.push(async () => {
    await server.close()
    await supergraph.close()
  })
  return { url, supergraph, partner, file, ticks, openGate, waiting, logged, registry, closedRemotes: () => closed }
}

/** The partner is at another address from now on. */
export function moveTo(routingUrl: string, file: string): void {
  writeFileSync(
    join(file, '..', 'supergraph.yaml'),
    JSON.stringify({ subgraphs: { videos: { routing_url: routingUrl, schema: { file: 'videos.graphql' } } } }),
  )
}

export async function ask(url: string, query: string): Promise<any> {
  const response = await fetch(`${url}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ query }),
  })
  return response.json()
}

export async function until(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = Date.now() + 10_000
  while (!(await holds())) {
    if (Date.now() > deadline) throw new Error(`it did not happen in 10 s: ${what}`)
    await wait(10)
  }
}

export const countOf = async (registry: Registry, result: string): Promise<number> => {
  const values = (await registry.getSingleMetric('tidemark_supergraph_reloads_total')?.get())?.values ?? []
  return values.find(({ labels }) => labels['result'] === result)?.value ?? 0
}

export function follow(url: string, query: string, connectionParams: Record<string, string> = {}): AsyncIterableIterator<unknown> {
  const client = createClient({ url: `${url.replace('http', 'ws')}/graphql`, webSocketImpl: WebSocket, retryAttempts: 0, connectionParams })
  ends.push(() => client.dispose())
  return client.iterate({ query })
}

/** Results of a subscription over SSE; 'complete' at its end. */
export async function sse(
  url: string,
  query: string,
  headers: Record<string, string> = {},
): Promise<{ next(): Promise<unknown>; end(): void }> {
  const abort = new AbortController()
  const response = await fetch(`${url}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'text/event-stream', ...headers },
    body: JSON.stringify({ query }),
    signal: abort.signal,
  })
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  return {
    async next() {
      for (;;) {
        const found = /event: (next|complete)\ndata:(.*)\n\n/.exec(text)
        if (found !== null) {
          text = text.slice(found.index + found[0].length)
          return found[1] === 'complete' ? 'complete' : JSON.parse(found[2] ?? '')
        }
        const step = await reader?.read()
        if (step === undefined || step.done) return 'closed'
        text += step.value
      }
    },
    end: () => abort.abort(),
  }
}
