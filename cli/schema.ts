/**
 * `tidemark schema` prints the SDL of the API that clients see, or of one of Tidemark's subgraphs. A process with this configuration serves
 * the same texts at /graphql/schema.graphql (gateway/doors/schema-file.ts).
 */
import { printSchema } from 'graphql'
import { TidemarkError } from '../core/errors.ts'
import { makePlanner } from '../gateway/operation/planner.ts'
import type { Config } from '../config/config.ts'
import { ourSubgraphs } from '../subgraphs/catalog.ts'
import { publishedSdl } from '../subgraphs/published-sdl.ts'
import { loadGraph, readGraphSettings } from './graph-files.ts'
import { writeOut } from './out-file.ts'
import type { Flags } from './process/settings.ts'

export type SchemaFlags = Flags & { readonly subgraph?: string; readonly out?: string }

/** `print` gets the SDL unless `out` names a file. Rejects with CONFIG_INVALID. */
export async function schema(flags: SchemaFlags, print: (text: string) => void): Promise<void> {
  const config = readGraphSettings(flags)
  const sdl = flags.subgraph === undefined ? await apiSdl(config) : subgraphSdl(flags.subgraph, config)
  if (flags.out === undefined) print(sdl)
  else writeOut(flags.out, `${sdl}\n`)
}

async function apiSdl(config: Config): Promise<string> {
  return printSchema(makePlanner((await loadGraph(config)).loaded.sdl).schema)
}

function subgraphSdl(name: string, config: Config): string {
  const ours = ourSubgraphs(config)
  const found = ours.find((each) => each.name === name)
  if (found !== undefined) return publishedSdl(found, config.server)
  const names = ours.map((each) => each.name).join(', ')
  throw new TidemarkError('CONFIG_INVALID', `"${name}" is no subgraph of Tidemark in this configuration: give --subgraph one of ${names}`)
}
