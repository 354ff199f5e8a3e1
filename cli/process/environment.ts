/**
 * Reads settings from the environment. A table has each variable with its key and its reader. A text that cannot be read stays a text, so
 * that validation reports it together with all other mistakes.
 */
import { readFileSync } from 'node:fs'
import type { ConfigSource, UnreadSetting } from '../../config/mistakes.ts'
import { TidemarkError, isTidemarkError } from '../../core/errors.ts'
import { nearest } from '../../core/nearest.ts'

type Variable = { key: string; read: (text: string, name: string) => unknown }

const asText = (text: string): unknown => text
const asList = (text: string): unknown => text.split(',').map((each) => each.trim())
const asSwitch = (text: string): unknown => (text === 'true' ? true : text === 'false' ? false : text)

export const VARIABLES: Readonly<Record<string, Variable>> = {
  PORT: { key: 'server.port', read: numberOrText },
  HOST: { key: 'server.host', read: asText },
  TIDEMARK_ADMIN_HOST: { key: 'server.admin.host', read: asText },
  TIDEMARK_ADMIN_PORT: { key: 'server.admin.port', read: numberOrText },
  TIDEMARK_LOG_LEVEL: { key: 'server.logLevel', read: asText },
  TIDEMARK_ACCESS_LOG: { key: 'server.accessLog', read: asSwitch },
  TIDEMARK_MODE: { key: 'server.mode', read: asText },
  TIDEMARK_WORKERS: { key: 'server.workers', read: numberOrText },
  TIDEMARK_CORS_ORIGINS: { key: 'server.cors.origins', read: asList },
  TIDEMARK_SUPERGRAPH: { key: 'server.supergraph', read: asText },
  TIDEMARK_JWT_SECRET: { key: 'auth.secret', read: asText },
  TIDEMARK_JWKS_URL: { key: 'auth.jwksUrl', read: asText },
  TIDEMARK_JWT_ISSUER: { key: 'auth.issuer', read: asText },
  TIDEMARK_JWT_AUDIENCE: { key: 'auth.audience', read: asText },
  TIDEMARK_IDENTITY_SECRET: { key: 'auth.identity.secret', read: asText },
  TIDEMARK_PRIVACY_SECRET: { key: 'privacy.secret', read: asText },
  TIDEMARK_DATA: { key: 'stores.data', read: asText },
  TIDEMARK_REDIS_URL: { key: 'stores.redis.urls', read: asList },
  TIDEMARK_REDIS_CLUSTER: { key: 'stores.redis.cluster', read: asSwitch },
  TIDEMARK_REDIS_USERNAME: { key: 'stores.redis.username', read: asText },
  TIDEMARK_REDIS_PASSWORD: { key: 'stores.redis.password', read: asText },
  TIDEMARK_REDIS_TLS: { key: 'stores.redis.tls', read: tlsFrom },
  TIDEMARK_KAFKA_BROKERS: { key: 'stores.kafka.brokers', read: asList },
  TIDEMARK_KAFKA_MECHANISM: { key: 'stores.kafka.sasl.mechanism', read: asText },
  TIDEMARK_KAFKA_USERNAME: { key: 'stores.kafka.sasl.username', read: asText },
  TIDEMARK_KAFKA_PASSWORD: { key: 'stores.kafka.sasl.password', read: asText },
  TIDEMARK_KAFKA_TLS: { key: 'stores.kafka.tls', read: tlsFrom },
  TIDEMARK_MYSQL_URL: { key: 'stores.mysql.url', read: asText },
  TIDEMARK_MYSQL_USER: { key: 'stores.mysql.user', read: asText },
  TIDEMARK_MYSQL_PASSWORD: { key: 'stores.mysql.password', read: asText },
  TIDEMARK_MYSQL_TLS: { key: 'stores.mysql.tls', read: tlsFrom },
  TIDEMARK_LEGACY_URL: { key: 'existence.legacy.urls', read: asList },
  TIDEMARK_LEGACY_USERNAME: { key: 'existence.legacy.username', read: asText },
  TIDEMARK_LEGACY_PASSWORD: { key: 'existence.legacy.password', read: asText },
  TIDEMARK_LEGACY_TLS: { key: 'existence.legacy.tls', read: tlsFrom },
}

/** Variables that are not settings of the service. */
const OTHERS = ['TIDEMARK_CONFIG', 'TIDEMARK_SERVICES_PORTS']

/** An empty variable counts as absent. A variable of blanks alone is a mistake: it was meant to have a value. */
export function fromEnvironment(environment: NodeJS.ProcessEnv): ConfigSource {
  const values: Record<string, unknown> = {}
  const mistakes: UnreadSetting[] = []
  for (const [name, { key, read }] of Object.entries(VARIABLES)) {
    const text = environment[name]
    if (text === undefined || text === '') continue
    if (isBlank(text)) {
      mistakes.push({ path: key, sentence: blank(name) })
      continue
    }
    try {
      const value = read(text, name)
      if (value !== undefined) setAt(values, key.split('.'), value)
    } catch (error) {
      if (!isTidemarkError(error)) throw error
      mistakes.push({ path: key, sentence: error.message })
    }
  }
  const places = Object.fromEntries(Object.entries(VARIABLES).map(([name, { key }]) => [key, name]))
  return { name: 'the environment', values, places, mistakes }
}

/** An empty text counts as absent. */
export function isBlank(text: string | undefined): boolean {
  return text !== undefined && text !== '' && text.trim() === ''
}

export function blank(name: string): string {
  return `${name} has only blanks: give it a value, or unset it`
}

/** One sentence per unknown variable that begins with TIDEMARK_. */
export function strayVariables(environment: NodeJS.ProcessEnv): string[] {
  const known = [...Object.keys(VARIABLES), ...OTHERS]
  const stray = Object.keys(environment).filter((name) => name.startsWith('TIDEMARK_') && !known.includes(name))
  return stray.map((name) => {
    const meant = nearest(name, known)
    return `${name} is not a variable of Tidemark and is ignored${meant === undefined ? '' : `: is ${meant} meant?`}`
  })
}

export function numberOrText(text: string): unknown {
  return /^\d{1,9}$/.test(text) ? Number(text) : text
}

/** `true` trusts the authorities of the system, and a PEM file those in it. `false` leaves the choice to tidemark.yaml. */
function tlsFrom(text: string, name: string): unknown {
  if (text === 'true') return {}
  if (text === 'false') return undefined
  try {
    return { ca: readFileSync(text, 'utf8') }
  } catch (error) {
    const sentence = `${name} is "${text}", which is neither true nor a file that can be read: give true, or the PEM file of an authority`
    throw new TidemarkError('CONFIG_INVALID', sentence, { cause: error })
  }
}

function setAt(values: Record<string, unknown>, [first = '', ...rest]: readonly string[], value: unknown): void {
  if (rest.length === 0) {
    values[first] = value
    return
  }
  const section = (values[first] ??= {}) as Record<string, unknown>
  setAt(section, rest, value)
}
