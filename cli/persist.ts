/**
 * `tidemark persist FOLDER` makes a manifest of persisted operations from a folder of `.graphql` files. It checks them against a schema, if
 * given: a file (the SDL of an API, a supergraph, or settings that name one), or the address of a service.
 */
import { readFileSync, readdirSync, statSync } from 'node:fs'
import { join, relative, sep } from 'node:path'
import type { GraphQLSchema } from 'graphql'
import { TidemarkError } from '../core/errors.ts'
import { buildManifest, manifestText, type SourceFile } from '../gateway/persisted/build-manifest.ts'
import { fetchApiSchema } from '../gateway/supergraph/introspect.ts'
import { apiUrl } from '../conformance/api-client.ts'
import { loadApi } from './graph-files.ts'
import { writeOut } from './out-file.ts'
import { readSettings } from './process/settings.ts'

export type PersistFlags = {
  out?: string
  format: 'apollo' | 'relay'
  /** Only this client program may call the operations by their ids. */
  client?: string
  url?: string
  schema?: string
  token?: string
}

const TIMEOUT_MS = 10_000

/** Throws CONFIG_INVALID with one sentence per mistake. */
export async function persist(folder: string, flags: PersistFlags, print: (text: string) => void): Promise<void> {
  const files = readSources(folder)
  const { operations, mistakes } = buildManifest(files, await schemaOf(flags))
  if (mistakes.length > 0) throw new TidemarkError('CONFIG_INVALID', mistakes.join('\n'))
  if (operations.length === 0)
    throw new TidemarkError('CONFIG_INVALID', `${folder} has no operation: put them into files that end in .graphql or .gql`)
  if (flags.client !== undefined && flags.format === 'relay')
    throw new TidemarkError('CONFIG_INVALID', "--client needs --format apollo: Relay's form has no client names")
  const text = manifestText(operations, flags.format, flags.client)
  if (flags.out === undefined) return print(text.trimEnd())
  writeOut(flags.out, text)
  print(`${flags.out}: ${operations.length} operations of ${files.length} files`)
}

function readSources(folder: string): SourceFile[] {
  if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory())
    throw new TidemarkError('CONFIG_INVALID', `${folder} is not a folder: name the one with the .graphql files`)
  const paths = readdirSync(folder, { recursive: true, encoding: 'utf8', withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.(?:graphql|gql)$/.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => !relative(folder, path).split(sep).includes('node_modules'))
  return paths.map((path) => ({ name: path, text: readFileSync(path, 'utf8') }))
}

async function schemaOf({ url, schema, token }: PersistFlags): Promise<GraphQLSchema | undefined> {
  if (schema !== undefined && url !== undefined) throw new TidemarkError('CONFIG_INVALID', 'give --schema or --url, not both')
  if (schema !== undefined) return loadApi(schema, '--schema', () => readSettings({}))
  if (url === undefined) return undefined
  const api = apiUrl(url, '--url')
  return fetchApiSchema(api, { timeoutMs: TIMEOUT_MS, ...(token === undefined ? {} : { headers: { authorization: `Bearer ${token}` } }) })
}
