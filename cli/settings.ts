/**
 * Reads the configuration once: tidemark.yaml, the environment, flags. The environment's table is environment.ts.
 * Secrets given as `{file: path}` become their text here and are never logged.
 */
import cluster from 'node:cluster'
import { existsSync, readFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { parse } from 'yaml'
import { makeConfig, type Config, type ConfigSource } from '../core/config.ts'
import { TidemarkError } from '../core/errors.ts'
import { fromEnvironment, numberOrText, strayVariables } from './environment.ts'
import { checkTls } from './tls-settings.ts'

export type Flags = {
  costMax?: string | undefined
  config?: string | undefined
  port?: string | undefined
  host?: string | undefined
  data?: string | undefined
  workers?: string | undefined
  supergraph?: string | undefined
}

const DEFAULT_FILE = 'tidemark.yaml'

/** For `${env.NAME}` in a supergraph.yaml. */
export const environment: Readonly<Record<string, string | undefined>> = process.env

/** Throws CONFIG_INVALID with one sentence per mistake. `warn` is told what is only strange. */
export function readSettings(
  flags: Flags,
  environment: NodeJS.ProcessEnv = process.env,
  warn: (sentence: string) => void = sayOnce,
): Config {
  for (const sentence of strayVariables(environment)) warn(sentence)
  const file = flags.config ?? environment['TIDEMARK_CONFIG']
  const config = makeConfig([fromFile(file), fromEnvironment(environment), fromFlags(flags)])
  checkTls(config)
  return config
}

/** Workers have the environment of their primary, which has said it. */
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
  const values = parseYaml(path)
  if (values !== null && (typeof values !== 'object' || Array.isArray(values))) {
    throw new TidemarkError(
      'CONFIG_INVALID',
      `${path} is not a mapping: write settings as "key: value" lines, see "Configuration" in README.md`,
    )
  }
  return { name: path, values: withSupergraphPath(withSecretTexts(values, dirname(path)), dirname(path)) }
}

function parseYaml(path: string): unknown {
  try {
    return parse(readFileSync(path, 'utf8'))
  } catch (error) {
    throw new TidemarkError('CONFIG_INVALID', `${path} is not YAML: ${firstLine(error)}`, { cause: error })
  }
}

/** Wherever a value is `{file: path}`, in lists too, its text; the path is relative to the configuration file. */
function withSecretTexts(value: unknown, folder: string): unknown {
  if (isFileReference(value)) return readSecret(resolve(folder, value.file))
  if (Array.isArray(value)) return value.map((each) => withSecretTexts(each, folder))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, each]: [string, unknown]) => [key, withSecretTexts(each, folder)]))
}

/** `server.supergraph` is relative to the configuration file, as the files of secrets are. */
function withSupergraphPath(values: unknown, folder: string): unknown {
  const { server } = (values ?? {}) as { server?: { supergraph?: unknown } | null }
  if (typeof server?.supergraph !== 'string' || server.supergraph === '') return values
  return { ...(values as object), server: { ...server, supergraph: resolve(folder, server.supergraph) } }
}

function isFileReference(value: unknown): value is { file: string } {
  return typeof value === 'object' && value !== null && 'file' in value && typeof value.file === 'string' && Object.keys(value).length === 1
}

function readSecret(path: string): string {
  try {
    return readFileSync(path, 'utf8').trim()
  } catch (error) {
    throw new TidemarkError('CONFIG_INVALID', `the secret file ${path} cannot be read: ${firstLine(error)}`, { cause: error })
  }
}

function fromFlags(flags: Flags): ConfigSource {
  return {
    name: 'flags',
    values: {
      server: present({
        port: asNumber(flags.port),
        host: flags.host,
        workers: asNumber(flags.workers),
        supergraph: flags.supergraph,
        operationCostMax: asNumber(flags.costMax),
      }),
      stores: present({ data: flags.data }),
    },
    places: {
      'server.port': '--port',
      'server.host': '--host',
      'server.workers': '--workers',
      'server.supergraph': '--supergraph',
      'stores.data': '--data',
    },
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
