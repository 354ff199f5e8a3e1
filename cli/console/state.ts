/**
 * The data of the console page: one state of the process per call, from its metrics, its readiness check and its parts, and the stored data
 * of one viewer. The console adds no counters: all its data exists without it.
 */
import type { Registry } from '@prometheus-io/client'
import { makeBusinesses } from '../../config/businesses.ts'
import type { Config } from '../../config/config.ts'
import type { BusinessNumber } from '../../core/domain.ts'
import type { HotKey } from '../../loaders/lookup/hot-keys.ts'
import type { ConsoleSource } from '../../gateway/pages/console-source.ts'
import type { State } from '../../pages/console/answer.ts'
import { isEmbedded, type OpenRole } from '../process/open-role.ts'
import type { ConsoleParts } from '../process/serve.ts'
import type { OpenStores } from '../stores/history.ts'
import { readViewer } from '../viewer-data.ts'
import { fetchesOf, figuresOf, latencyOf, operationsOf, readSamples, requestsOf } from './figures.ts'

const OPERATIONS_MAX = 50
const HOT_MAX = 20

type Opened = { stores: OpenStores; registry: Registry; subgraphs: OpenRole['subgraphs'] }

/** `metricsOfAll`: with `--workers`. */
export function makeConsole(
  config: Config,
  { stores, registry, subgraphs }: Opened,
  { supergraph, ready }: ConsoleParts,
  metricsOfAll: () => Promise<string> = () => registry.metrics(),
): ConsoleSource {
  return {
    async state(): Promise<State> {
      const [text, readiness] = await Promise.all([metricsOfAll(), ready()])
      const samples = readSamples(text)
      const fetches = fetchesOf(samples)
      return {
        at: Date.now(),
        process: {
          id: process.pid,
          mode: config.server.mode,
          shape: isEmbedded(config) ? 'embedded' : 'distributed',
          workers: config.server.workers,
          upMs: Math.round(process.uptime() * 1_000),
        },
        ready: readiness,
        downSince: downSince(subgraphs),
        figures: { ...figuresOf(samples), requests: requestsOf(samples) },
        latency: latencyOf(samples),
        operations: operationsOf(samples, OPERATIONS_MAX),
        hot: hotSubjects(config, subgraphs),
        supergraph: {
          hash: supergraph.current().hash,
          subgraphs: supergraph.subgraphs().map(({ name, url, isDown }) => ({
            ...{ name, url: url === undefined ? undefined : withoutCredentials(url), isDown },
            ...(fetches.get(name) ?? { fetches: 0, failed: 0 }),
          })),
        },
      }
    },
    viewer: (id) => readViewer(stores, id, config),
  }
}

function withoutCredentials(url: string): string {
  return url.replace(/\/\/[^/@]*@/, '//')
}

/** The beginning of each outage that a breaker has noticed. An outage of a store that is not in use stays unnoticed. */
function downSince(subgraphs: Opened['subgraphs']): Record<string, number> {
  return Object.fromEntries(
    subgraphs.flatMap((subgraph) =>
      subgraph.name === 'history'
        ? Object.entries(subgraph.figures().outages).flatMap(([store, { since }]) => (since === undefined ? [] : [[store, since]]))
        : [],
    ),
  )
}

/** The subjects with the most reads of counts in this process, in descending order. */
function hotSubjects(config: Config, subgraphs: Opened['subgraphs']): { business: string; id: string; share: number; perSecond: number }[] {
  const businesses = makeBusinesses(() => config.businesses)
  return subgraphs
    .flatMap((subgraph): HotKey[] => {
      if (subgraph.name !== 'thumbup') return []
      const figures = subgraph.figures()
      return [figures, ...Object.values(figures.tenants)].flatMap(({ counts }) => counts.hot)
    })
    .toSorted((a, b) => b.perSecond - a.perSecond)
    .slice(0, HOT_MAX)
    .map(({ key, share, perSecond }) => {
      const at = key.indexOf(':')
      const number: BusinessNumber = Number(key.slice(0, at))
      return { business: businesses.byNumber(number)?.name ?? String(number), id: key.slice(at + 1), share, perSecond }
    })
}
