/** The metrics of the supergraph. */
import { Counter, Gauge, type Registry } from '@prometheus-io/client'

const RESULTS = ['swapped', 'unchanged', 'failed'] as const

export type SupergraphMetrics = {
  countReload(result: (typeof RESULTS)[number]): void
  /** The supergraph with this hash now serves. */
  serve(hash: string): void
}

/** `engines` gives the number of engines that are not released yet. */
export function makeSupergraphMetrics(registry: Registry, engines: () => number): SupergraphMetrics {
  const registers = [registry]
  const reloads = new Counter({
    name: 'tidemark_supergraph_reloads_total',
    help: 'Reloads of the supergraph, by result: swapped (a new one serves), unchanged, failed (the old one still serves).',
    labelNames: ['result'],
    registers,
  })
  // increase() of a series that begins at 1 is 0, so the first failure would not be seen.
  for (const result of RESULTS) reloads.inc({ result }, 0)
  const info = new Gauge({
    name: 'tidemark_supergraph_info',
    help: 'The supergraph that serves, by the start of the SHA-256 of its SDL; the value is the number of processes.',
    labelNames: ['hash'],
    registers,
  })
  const alive = new Gauge({
    name: 'tidemark_supergraph_engines',
    help: 'Engines in memory: the current one, and replaced ones with running operations.',
    registers,
    collect() {
      alive.set(engines())
    },
  })
  return {
    countReload: (result) => reloads.inc({ result }),
    serve(hash) {
      info.reset()
      info.set({ hash }, 1)
    },
  }
}
