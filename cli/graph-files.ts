/** What `tidemark compose` and `tidemark check` work on: the supergraph that the settings name, without starting anything. */
import { existsSync, readFileSync } from 'node:fs'
import { buildSchema, type GraphQLSchema } from 'graphql'
import type { Config } from '../core/config.ts'
import { TidemarkError } from '../core/errors.ts'
import type { SubgraphSdl } from '../gateway/compose.ts'
import { makePlanner } from '../gateway/planner.ts'
import { gather } from '../gateway/supergraph/gather.ts'
import { fetchApiSchema } from '../gateway/supergraph/introspect.ts'
import { loadSupergraph, type LoadedSupergraph } from '../gateway/supergraph/load.ts'
import { historySdl } from '../subgraphs/history/schema.ts'
import { environment, readSettings, type Flags } from './settings.ts'

/** `--config` may name either file: rover has the supergraph.yaml there. */
export function readGraphSettings(flags: Flags): Config {
  const { config, ...rest } = flags
  return config !== undefined && namesSubgraphs(config)
    ? readSettings({ ...rest, supergraph: flags.supergraph ?? config })
    : readSettings(flags)
}

function namesSubgraphs(path: string): boolean {
  if (!existsSync(path)) return false
  return /^\s*\{?\s*["']?subgraphs["']?\s*:|^\s*enum\s+join__Graph\b/m.test(readFileSync(path, 'utf8'))
}

function ourSubgraphs(config: Config): SubgraphSdl[] {
  return [{ name: 'history', sdl: historySdl(config.businesses) }]
}

/** `subgraphs` is empty if the supergraph came composed. Rejects with CONFIG_INVALID. */
export async function loadGraph(config: Config): Promise<{ loaded: LoadedSupergraph; subgraphs: readonly SubgraphSdl[] }> {
  const ours = ourSubgraphs(config)
  const gathered = await gather(config.server.supergraph, ours, { ...config.supergraph, environment })
  const subgraphs = 'subgraphs' in gathered.content ? gathered.content.subgraphs : []
  return { loaded: loadSupergraph(gathered, ours), subgraphs }
}

/** An address that answers introspection, a supergraph, a supergraph.yaml, or the schema of an API. Rejects with CONFIG_INVALID. */
export async function loadOlderApi(named: string, config: Config): Promise<GraphQLSchema> {
  if (/^https?:\/\//.test(named)) return fetchApiSchema(named, { timeoutMs: config.supergraph.fetchTimeoutMs })
  if (!existsSync(named)) throw new TidemarkError('CONFIG_INVALID', `${named} does not exist: correct --against`)
  if (namesSubgraphs(named)) {
    const { loaded } = await loadGraph({ ...config, server: { ...config.server, supergraph: named } })
    return makePlanner(loaded.sdl).schema
  }
  try {
    return buildSchema(readFileSync(named, 'utf8'))
  } catch (cause) {
    throw new TidemarkError(
      'CONFIG_INVALID',
      `${named} is no schema (${(cause as Error).message}): give a supergraph, an API's SDL or an address`,
      {
        cause,
      },
    )
  }
}
