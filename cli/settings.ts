/**
 * Reads the configuration once: tidemark.yaml, the environment, flags. The only reader of `process.env`.
 * Secrets given as `{file: path}` become their text here and are never logged.
 */
import { existsSync, readFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { parse } from 'yaml'
import { makeConfig, type Config, type ConfigSource } from '../core/config.ts'
import { TidemarkError } from '../core/errors.ts'

export type Flags = {
  config?: string | undefined
  port?: string | undefined
  host?: string | undefined
  data?: string | undefined
  workers?: string | undefined
}

const DEFAULT_FILE = 'tidemark.yaml'

/** Throws CONFIG_INVALID with one sentence per mistake. */
export function readSettings(flags: Flags, environment: NodeJS.ProcessEnv = process.env): Config {
  const file = flags.config ?? environment['TIDEMARK_CONFIG']
  return makeConfig([fromFile(file), fromEnvironment(environment), fromFlags(flags)])
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
  return { name: path, values: withSecretTexts(values ?? {}, dirname(path)) }
}

function parseYaml(path: string): unknown {
  try {
    return parse(readFileSync(path, 'utf8'))
  } catch (error) {
    throw new TidemarkError('CONFIG_INVALID', `${path} is not YAML: ${firstLine(error)}`, { cause: error })
  }
}

/** Wherever a value is `{file: path}`, its text; the path is relative to the configuration file. */
function withSecretTexts(values: object, folder: string): object {
  const entries = Object.entries(values).map(([key, value]: [string, unknown]) => {
    if (isFileReference(value)) return [key, readSecret(resolve(folder, value.file))]
    return [key, typeof value === 'object' && value !== null && !Array.isArray(value) ? withSecretTexts(value, folder) : value]
  })
  return Object.fromEntries(entries)
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

function fromEnvironment(environment: NodeJS.ProcessEnv): ConfigSource {
  return {
    name: 'the environment',
    values: {
      server: present({
        port: wholeNumber(environment['PORT'], 'PORT'),
        host: environment['HOST'],
        mode: environment['TIDEMARK_MODE'],
        workers: wholeNumber(environment['TIDEMARK_WORKERS'], 'TIDEMARK_WORKERS'),
      }),
      auth: present({
        secret: environment['TIDEMARK_JWT_SECRET'],
        jwksUrl: environment['TIDEMARK_JWKS_URL'],
        identity: section({ secret: environment['TIDEMARK_IDENTITY_SECRET'] }),
      }),
      stores: present({
        data: environment['TIDEMARK_DATA'],
        redis: section({ urls: list(environment['TIDEMARK_REDIS_URL']), password: environment['TIDEMARK_REDIS_PASSWORD'] }),
        kafka: section({
          brokers: list(environment['TIDEMARK_KAFKA_BROKERS']),
          sasl: section({ password: environment['TIDEMARK_KAFKA_PASSWORD'] }),
        }),
        mysql: section({ url: environment['TIDEMARK_MYSQL_URL'], password: environment['TIDEMARK_MYSQL_PASSWORD'] }),
      }),
    },
  }
}

function fromFlags(flags: Flags): ConfigSource {
  return {
    name: 'flags',
    values: {
      server: present({ port: wholeNumber(flags.port, '--port'), host: flags.host, workers: wholeNumber(flags.workers, '--workers') }),
      stores: present({ data: flags.data }),
    },
  }
}

function present(values: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined && value !== ''))
}

/** A section of which something is set; else undefined, so that an empty one does not choose a shape. */
function section(values: Record<string, unknown>): Record<string, unknown> | undefined {
  const given = present(values)
  return Object.keys(given).length > 0 ? given : undefined
}

function list(text: string | undefined): string[] | undefined {
  return text === undefined || text === '' ? undefined : text.split(',').map((each) => each.trim())
}

function wholeNumber(text: string | undefined, name: string): number | undefined {
  if (text === undefined || text === '') return undefined
  if (/^\d{1,9}$/.test(text)) return Number(text)
  throw new TidemarkError('CONFIG_INVALID', `${name} is "${text}": give a whole number`)
}

function firstLine(error: unknown): string {
  return String(error instanceof Error ? error.message : error).split('\n', 1)[0] ?? ''
}
