/**
 * The supergraph of a serving process: gathers its parts, composes them, makes an engine, and reloads it after changes. Our subgraphs
 * run in the process. All others are reached at their addresses.
 */
import type { Registry } from '@prometheus-io/client'
import type { GraphQLSchema } from 'graphql'
import type { Clock } from '../../core/clock.ts'
import { makeEngine, type EngineOptions } from '../operation/engine.ts'
import type { Log } from '../request/error-format.ts'
import { makeGeneration } from './generation.ts'
import { makeLiveEngine, type Candidate, type LiveEngine } from './live-engine.ts'
import { localTransport } from '../transports/local-transport.ts'
import type { Transport } from '../transports/transport.ts'
import { gather, type GatheredSchemas, type GatherOptions } from './gather.ts'
import { loadSupergraph, type LoadedSupergraph, type Placement } from './load.ts'
import { makeSupergraphMetrics } from './metrics.ts'
import { startReloading, type GraphCheck, type ReloadResult } from './reload.ts'
import { makeRemotes, type ClosableTransport } from './remotes.ts'

/** `sdl` and `schema` may change while the process runs. A reload then serves them. */
export type LocalSubgraph = { readonly name: string; readonly sdl: string; readonly schema: GraphQLSchema }

export type SupergraphOptions = GatherOptions & {
  /** supergraph.yaml or a composed supergraph. Undefined: only our subgraphs. */
  readonly path: string | undefined
  /** Milliseconds between two polls of files and addresses. 0: never. Files are also watched. */
  readonly pollMs: number
  /** Milliseconds for which a replaced engine is kept at least. Default 10000. */
  readonly lingerMs?: number
  readonly engine: Omit<EngineOptions, 'decorate'>
}

export type SupergraphParts = {
  makeRemote(name: string, url: string): ClosableTransport
  /** Wraps each transport, local and remote; see fetch-observer.ts. */
  observe?(subgraph: string, transport: Transport): Transport
  readonly log: Log
  readonly registry: Registry
  readonly clock: Clock
}

export type Supergraph = {
  /** The engine that serves. After a swap it uses the new graph. */
  readonly engine: LiveEngine
  /** The supergraph that serves. */
  current(): LoadedSupergraph
  /** The subgraphs that serve. `isDown`: the breaker is open, so calls are refused at once. */
  subgraphs(): (Placement & { readonly isDown: boolean })[]
  /** Polls files and addresses now. Never rejects. */
  reload(reason: string): Promise<ReloadResult>
  /** The check is asked about every new graph before it serves, but not about the first. */
  addCheck(check: GraphCheck): void
  /** The listener is called after a new graph serves. */
  onSwap(listener: () => void): void
  /** Stops watching and closes the connections. No operation may be running. */
  close(): Promise<void>
}

/** Rejects with CONFIG_INVALID. */
export async function openSupergraph(
  ours: readonly LocalSubgraph[],
  options: SupergraphOptions,
  parts: SupergraphParts,
): Promise<Supergraph> {
  const { clock, log, observe = (_, transport) => transport } = parts
  const sdls = () => ours.map(({ name, sdl }) => ({ name, sdl }))
  const locals = makeLocals(ours, (name, schema) => observe(name, localTransport(schema, options.engine)))
  const remotes = makeRemotes(makeRemote, (err) => log.warn({ err }, 'connections to a subgraph did not close cleanly'))

  function makeRemote(name: string, url: string): ClosableTransport {
    const remote = parts.makeRemote(name, url)
    return { ...observe(name, remote), isDown: () => remote.isDown?.() === true, close: () => remote.close() }
  }

  function serveNow({ hash, gaps }: LoadedSupergraph): void {
    metrics.serve(hash)
    for (const sentence of gaps) log.warn({ hash }, sentence)
  }

  function build(gathered: GatheredSchemas): { loaded: LoadedSupergraph; candidate: Candidate } {
    const loaded = loadSupergraph(gathered, sdls())
    const held = loaded.placements.map(({ name, url }) => ({ name, ...reach(name, url) }))
    const release = () => held.forEach((each) => each.release())
    const generation = makeGeneration()
    try {
      const engine = makeEngine(loaded.sdl, held, { ...options.engine, decorate: generation.decorate })
      return { loaded, candidate: { engine, generation, release } }
    } catch (error) {
      release()
      throw error
    }
  }

  function reach(name: string, url: string | undefined): ReturnType<typeof remotes.acquire> {
    const local = url === undefined ? locals.of(name) : undefined
    return local === undefined ? remotes.acquire(name, url ?? '') : { transport: local, release() {} }
  }

  // A schema that changes without its SDL has other resolvers, and needs a new engine too.
  const look = async () => {
    const gathered = await gather(options.path, sdls(), options)
    return { ...gathered, fingerprint: `${gathered.fingerprint} ${locals.generation()}` }
  }
  const first = await look()
  const { loaded, candidate } = build(first)
  const engine = makeLiveEngine(candidate, clock, options.lingerMs === undefined ? {} : { lingerMs: options.lingerMs })
  const metrics = makeSupergraphMetrics(parts.registry, engine.engines)
  const checks = new Set<GraphCheck>()
  const listeners = new Set<() => void>()
  let current = loaded
  serveNow(loaded)
  const reloader = startReloading(
    {
      gather: look,
      build,
      live: engine,
      checks,
      metrics,
      log,
      swapped(next) {
        current = next
        serveNow(next)
        for (const listener of listeners) listener()
      },
    },
    first,
    clock,
    { pollMs: options.path === undefined ? 0 : options.pollMs },
  )

  return {
    engine,
    current: () => current,
    subgraphs: () => current.placements.map((each) => ({ ...each, isDown: each.url !== undefined && remotes.isDown(each.name, each.url) })),
    reload: reloader.reload,
    addCheck: (check) => void checks.add(check),
    onSwap: (listener) => void listeners.add(listener),
    async close() {
      await reloader.close()
      engine.close()
    },
  }
}

/** The transports of our subgraphs. A schema that changed gets a new one; operations under way end on the old one. */
function makeLocals(ours: readonly LocalSubgraph[], open: (name: string, schema: GraphQLSchema) => Transport) {
  const opened = new Map<string, { schema: GraphQLSchema; transport: Transport }>()
  let generation = 0

  function of(name: string): Transport | undefined {
    const schema = ours.find((each) => each.name === name)?.schema
    if (schema === undefined) return undefined
    const known = opened.get(name)
    if (known?.schema === schema) return known.transport
    const transport = open(name, schema)
    opened.set(name, { schema, transport })
    generation += 1
    return transport
  }

  return {
    of,
    /** Grows when a schema has changed. */
    generation(): number {
      for (const { name } of ours) of(name)
      return generation
    },
  }
}
