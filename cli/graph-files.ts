/** Loads the graph for `tidemark compose`, `check` and `persist`: the graph that the settings name, without starting anything. */
import { readFileSync } from 'node:fs'
import { buildSchema, type GraphQLSchema } from 'graphql'
import type { Config } from '../config/config.ts'
import { TidemarkError } from '../core/errors.ts'
import type { SubgraphSdl } from '../gateway/supergraph/subgraph-sdl.ts'
import { makePlanner } from '../gateway/operation/planner.ts'
import { gather } from '../gateway/supergraph/gather.ts'
import { loadSupergraph, type LoadedSupergraph } from '../gateway/supergraph/load.ts'
import { isComposed } from '../gateway/supergraph/source.ts'
import { ourSubgraphs } from '../subgraphs/catalog.ts'
import { environment, readSettings, type Flags } from './process/settings.ts'

/** `--config` may name either file, because rover takes the supergraph.yaml there. */
export function readGraphSettings(flags: Flags): Config {
  const { config, ...rest } = flags
  return config !== undefined && namesSubgraphs(readIfThere(config))
    ? readSettings({ ...rest, supergraph: flags.supergraph ?? config })
    : readSettings(flags)
}

function readIfThere(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    // readSettings reads the file again and reports the mistake.
    return ''
  }
}

function namesSubgraphs(text: string): boolean {
  return /^\s*\{?\s*["']?subgraphs["']?\s*:/m.test(text) || isComposed(text)
}

/** `subgraphs` is empty if the supergraph came composed. Rejects with CONFIG_INVALID. */
export async function loadGraph(config: Config): Promise<{ loaded: LoadedSupergraph; subgraphs: readonly SubgraphSdl[] }> {
  const ours = ourSubgraphs(config)
  const gathered = await gather(config.server.supergraph, ours, { ...config.supergraph, environment })
  const subgraphs = 'subgraphs' in gathered.content ? gathered.content.subgraphs : []
  return { loaded: loadSupergraph(gathered, ours), subgraphs }
}

/**
 * Returns the client schema of a graph in a file: a composed supergraph, a supergraph.yaml, a tidemark.yaml, or the SDL of an API. `flag`
 * is the option that named the file. A supergraph.yaml is composed with Tidemark's subgraphs under `settings`. Rejects with CONFIG_INVALID.
 */
export async function loadApi(path: string, flag: string, settings: () => Config): Promise<GraphQLSchema> {
  const text = readNamed(path, flag)
  // The file need not fit the settings: only a served graph must.
  if (isComposed(text)) return makePlanner(text).schema
  if (namesSubgraphs(text)) return apiOf({ ...settings(), server: { ...settings().server, supergraph: path } })
  if (/\.(?:ya?ml|json)$/.test(path)) return apiOf(readSettings({ config: path }))
  try {
    // Directives of Federation, or of a partner, need no definition here.
    return buildSchema(text, { assumeValidSDL: true })
  } catch (cause) {
    const forms = "a supergraph, a supergraph.yaml, a tidemark.yaml or an API's SDL"
    throw new TidemarkError('CONFIG_INVALID', `${flag} ${path} is not a schema (${(cause as Error).message}): give ${forms}`, { cause })
  }
}

async function apiOf(config: Config): Promise<GraphQLSchema> {
  return makePlanner((await loadGraph(config)).loaded.sdl).schema
}

function readNamed(path: string, flag: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException
    const reason = code === 'ENOENT' ? 'does not exist' : `cannot be read (${message})`
    throw new TidemarkError('CONFIG_INVALID', `${path} ${reason}: correct ${flag}`, { cause })
  }
}
