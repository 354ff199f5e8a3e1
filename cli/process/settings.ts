/**
 * Reads the configuration once: tidemark.yaml, the environment (environment.ts), flags. A secret given as `{file: path}` becomes its text
 * here and is never logged.
 */
import cluster from 'node:cluster'
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { parseDocument } from 'yaml'
import { makeConfig, missingKeys, type Config } from '../../config/config.ts'
import type { ConfigSource, UnreadSetting } from '../../config/mistakes.ts'
import { TidemarkError } from '../../core/errors.ts'
import { manifestMissing } from '../../gateway/persisted/manifest-files.ts'
import { supergraphMissing } from '../../gateway/supergraph/source.ts'
import { blank, isBlank, fromEnvironment, numberOrText, strayVariables } from './environment.ts'
import { tlsMistakesOf } from './tls-settings.ts'

export type Flags = {
  costMax?: string | undefined
  config?: string | undefined
  port?: string | undefined
  host?: string | undefined
  data?: string | undefined
  workers?: string | undefined
  supergraph?: string | undefined
  withoutAuthorizationDirectives?: boolean | undefined
}

const DEFAULT_FILE = 'tidemark.yaml'

/** For `${env.NAME}` in a supergraph.yaml. */
export const environment: Readonly<Record<string, string | undefined>> = process.env

/** The configuration, and the sources that it was made of: live versions come on top of them. */
export type Settings = { readonly config: Config; readonly sources: readonly ConfigSource[] }

/** As `readSources`, for a process that serves the graph. The files of the graph must exist, and in production a key for tokens. */
export function readGatewaySettings(flags: Flags, environment: NodeJS.ProcessEnv = process.env): Settings {
  return readSources(flags, environment, sayOnce, missingKeys, missingFiles)
}

/** As `readSources`, for a process that serves one subgraph. In production, a key for tokens must exist. */
export function readSubgraphSettings(flags: Flags, environment: NodeJS.ProcessEnv = process.env): Settings {
  return readSources(flags, environment, sayOnce, missingKeys)
}

export function readSettings(...from: Parameters<typeof readSources>): Config {
  return readSources(...from).config
}

/** Throws CONFIG_INVALID with one sentence per mistake. `warn` gets sentences about settings that are only suspicious. */
export function readSources(
  flags: Flags,
  environment: NodeJS.ProcessEnv = process.env,
  warn: (sentence: string) => void = sayOnce,
  moreMistakes: (config: Config) => readonly string[] = () => [],
  mistakesOfFiles?: (config: Config) => readonly string[],
): Settings {
  for (const sentence of strayVariables(environment)) warn(sentence)
  const named = environment['TIDEMARK_CONFIG'] === '' ? undefined : environment['TIDEMARK_CONFIG']
  if (flags.config === undefined && isBlank(named)) throw new TidemarkError('CONFIG_INVALID', blank('TIDEMARK_CONFIG'))
  if (flags.config?.trim() === '') throw new TidemarkError('CONFIG_INVALID', '--config names no file: name one, or leave it out')
  const sources = [fromFile(flags.config ?? named), fromEnvironment(environment), fromFlags(flags)]
  return { config: makeConfig(sources, (config) => [...tlsMistakesOf(config), ...moreMistakes(config)], mistakesOfFiles), sources }
}

/** Reports missing files together with all other mistakes. Their readers open them again later. */
function missingFiles({ server: { supergraph }, persisted }: Config): string[] {
  const isMissing = supergraph !== undefined && !existsSync(supergraph)
  const manifests = persisted.manifests.filter((path) => !existsSync(path))
  return [...(isMissing ? [supergraphMissing(supergraph)] : []), ...manifests.map(manifestMissing)]
}

/** Workers have the environment of their primary, which has already warned. */
function sayOnce(sentence: string): void {
  if (!cluster.isWorker) console.error(sentence)
}

function fromFile(named: string | undefined): ConfigSource {
  const path = resolve(named ?? DEFAULT_FILE)
  if (!existsSync(path)) {
    if (named === undefined) return { name: 'defaults', values: {} }
    throw new TidemarkError(
      'CONFIG_INVALID',
      `${named} does not exist: correct --config or TIDEMARK_CONFIG, or leave it out to run on defaults`,
    )
  }
  const { values, mistakes } = parseYaml(path)
  if (mistakes.length > 0) return { name: path, values: {}, mistakes: mistakes.map((sentence) => ({ path: '', sentence })) }
  if (values !== null && (typeof values !== 'object' || Array.isArray(values))) {
    throw new TidemarkError(
      'CONFIG_INVALID',
      `${path} is not a mapping: write settings as "key: value" lines, see docs/operating/configuration.md`,
    )
  }
  const unread: UnreadSetting[] = []
  return { name: path, values: withPaths(withSecretTexts(values, dirname(path), [], unread), dirname(path)), mistakes: unread }
}

function parseYaml(path: string): { values: unknown; mistakes: string[] } {
  const document = parseDocument(readText(path))
  const mistakes = document.errors.map((error) => `${path} is not YAML: ${firstLine(error)}`)
  return { values: mistakes.length > 0 ? undefined : document.toJS(), mistakes }
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EISDIR') {
      const sentence = `${path} is a folder: give --config or TIDEMARK_CONFIG the configuration file, such as ${join(path, DEFAULT_FILE)}`
      throw new TidemarkError('CONFIG_INVALID', sentence, { cause: error })
    }
    throw new TidemarkError('CONFIG_INVALID', `${path} cannot be read: ${firstLine(error)}`, { cause: error })
  }
}

/** Replaces each `{file: path}`, in lists too, by the text of the file. The path is relative to the configuration file. */
function withSecretTexts(value: unknown, folder: string, path: readonly (string | number)[], unread: UnreadSetting[]): unknown {
  if (isFileReference(value)) {
    try {
      return readFileSync(resolve(folder, value.file), 'utf8').trim()
    } catch (error) {
      unread.push({
        path: path.join('.'),
        sentence: `${path.join('.')}: the secret file ${resolve(folder, value.file)} cannot be read: ${firstLine(error)}`,
      })
      return undefined
    }
  }
  if (Array.isArray(value)) return value.map((each, at) => withSecretTexts(each, folder, [...path, at], unread))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, each]: [string, unknown]) => [key, withSecretTexts(each, folder, [...path, key], unread)]),
  )
}

/** `server.supergraph`, `persisted.manifests` and `live.from` are relative to the configuration file, like the files of secrets. */
function withPaths(values: unknown, folder: string): unknown {
  const { server, persisted, live } = (values ?? {}) as {
    server?: { supergraph?: unknown } | null
    persisted?: { manifests?: unknown } | null
    live?: { from?: unknown } | null
  }
  const absolute = (path: unknown): unknown => (typeof path === 'string' && path !== '' ? resolve(folder, path) : path)
  const isFile = live?.from !== undefined && live.from !== 'off' && live.from !== 'stores'
  return {
    ...(values as object | null),
    ...(server?.supergraph === undefined ? {} : { server: { ...server, supergraph: absolute(server.supergraph) } }),
    ...(Array.isArray(persisted?.manifests) ? { persisted: { ...persisted, manifests: persisted.manifests.map(absolute) } } : {}),
    ...(isFile ? { live: { ...live, from: absolute(live.from) } } : {}),
  }
}

function isFileReference(value: unknown): value is { file: string } {
  return typeof value === 'object' && value !== null && 'file' in value && typeof value.file === 'string' && Object.keys(value).length === 1
}

export const FLAGS: readonly { name: string; flag: Exclude<keyof Flags, 'withoutAuthorizationDirectives'>; key: string }[] = [
  { name: '--port', flag: 'port', key: 'server.port' },
  { name: '--host', flag: 'host', key: 'server.host' },
  { name: '--workers', flag: 'workers', key: 'server.workers' },
  { name: '--supergraph', flag: 'supergraph', key: 'server.supergraph' },
  { name: '--cost-max', flag: 'costMax', key: 'server.operationCostMax' },
  { name: '--data', flag: 'data', key: 'stores.data' },
]

/** As for variables, an empty flag counts as absent, and a flag of blanks alone is a mistake. */
function fromFlags(flags: Flags): ConfigSource {
  const given = (flag: (typeof FLAGS)[number]['flag']): string | undefined => (isBlank(flags[flag]) ? undefined : flags[flag])
  return {
    name: 'flags',
    values: {
      server: present({
        port: asNumber(given('port')),
        host: given('host'),
        workers: asNumber(given('workers')),
        supergraph: given('supergraph'),
        operationCostMax: asNumber(given('costMax')),
        authorizationDirectives: flags.withoutAuthorizationDirectives === true ? false : undefined,
      }),
      stores: present({ data: given('data') }),
    },
    places: Object.fromEntries(FLAGS.map(({ name, key }) => [key, name])),
    mistakes: FLAGS.filter(({ flag }) => isBlank(flags[flag])).map(({ name, key }) => ({
      path: key,
      sentence: `${name} has only blanks: give it a value, or leave it out`,
    })),
  }
}

function present(values: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined && value !== ''))
}

function asNumber(text: string | undefined): unknown {
  return text === undefined ? undefined : numberOrText(text)
}

function firstLine(error: unknown): string {
  return String(error instanceof Error ? error.message : error).split('\n', 1)[0] ?? ''
}
