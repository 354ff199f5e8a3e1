/** The configuration as written by a user: file, environment and flags, and the messages about mistakes. */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { readGatewaySettings, readSettings, readSubgraphSettings, type Flags } from '../../../cli/process/settings.ts'

const folder = mkdtempSync(join(tmpdir(), 'tidemark-settings-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const STORES = {
  TIDEMARK_REDIS_URL: 'redis://a:6379',
  TIDEMARK_KAFKA_BROKERS: 'b:9092',
  TIDEMARK_MYSQL_URL: 'mysql://c/tidemark',
}

function write(name: string, text: string): string {
  const path = join(folder, name)
  writeFileSync(path, text)
  return path
}

function mistakes(environment: Record<string, string>, text = '{}', flags: Flags = {}): string[] {
  try {
    readSettings({ config: write('tidemark.yaml', text), ...flags }, environment, () => undefined)
    return []
  } catch (error) {
    return (error as Error).message.split('\n')
  }
}

const settings = (environment: Record<string, string>, text = '{}') =>
  readSettings({ config: write('tidemark.yaml', text) }, environment, () => undefined)

test('the origins of web pages come from a variable, beside the other settings of cors', () => {
  const environment = { TIDEMARK_CORS_ORIGINS: 'https://app.example, http://localhost:5173' }
  const { server } = settings(environment, 'server: { cors: { origins: ["https://old.example"], credentials: true } }')
  expect(server.cors).toEqual({ origins: ['https://app.example', 'http://localhost:5173'], credentials: true })
  expect(mistakes({ TIDEMARK_CORS_ORIGINS: 'https://app.example/' })).toEqual([
    'server.cors.origins.0: "https://app.example/" is not possible: write https://host[:port] without a path, or * (set by TIDEMARK_CORS_ORIGINS)',
  ])
  expect(mistakes({}, 'server: { cors: { credentials: true } }')).toEqual([
    'server.cors.origins: it is missing: give a list (TIDEMARK_CORS_ORIGINS)',
  ])
})

test('in production a process that answers requests needs a key for tokens, and a job does not', () => {
  const production = { TIDEMARK_MODE: 'production' }
  const config = write('tidemark.yaml', '{}')
  for (const read of [readGatewaySettings, readSubgraphSettings]) {
    expect(() => read({ config }, production)).toThrow(/^auth: production needs auth.secret \(TIDEMARK_JWT_SECRET\)/)
    expect(read({ config }, { ...production, TIDEMARK_JWT_SECRET: 's'.repeat(32) }).config.server.mode).toBe('production')
  }
  expect(mistakes(production)).toEqual([])
})

test('compression takes a least size or off', () => {
  const sizeOf = (text: string) => settings({}, text).server.compressFromBytes
  expect([sizeOf('{}'), sizeOf('server: { compressFromBytes: off }'), sizeOf('server: { compressFromBytes: 5000 }')]).toEqual([
    1_024,
    'off',
    5_000,
  ])
  const mistakeOf = (value: string) => mistakes({}, `server: { compressFromBytes: ${value} }`)
  expect(mistakeOf('0')).toEqual([expect.stringContaining('0 is not possible: give at least 1')])
  expect(mistakeOf('no')).toEqual([expect.stringContaining('"no" is not possible: give a number of bytes from 1 to 1073741824, or off')])
})

describe('mistakes', () => {
  test('of every kind are reported in one pass: a blank, a file, a certificate, a value, a relation', () => {
    const text = [
      'auth: { secret: { file: gone.txt } }',
      'history: { flushAgeMaxMs: 60000, sweepAfterMs: 1000 }',
      'existence: { legacy: { tls: { ca: none } } }',
      'supergraph: { pollMs: -1 }',
      'server: { mode: production }',
    ]
    const environment = { PORT: ' ', TIDEMARK_KAFKA_TLS: 'gone.pem', HOST: '' }
    expect(mistakes(environment, text.join('\n'))).toEqual([
      expect.stringMatching(/^auth\.secret: the secret file .*gone\.txt cannot be read: ENOENT/),
      'PORT has only blanks: give it a value, or unset it',
      expect.stringMatching(/^TIDEMARK_KAFKA_TLS is "gone\.pem", which is neither true nor a file that can be read/),
      expect.stringMatching(/^existence\.legacy\.urls: it is missing/),
      expect.stringMatching(/^supergraph\.pollMs: -1 is not possible: give at least 0/),
      expect.stringMatching(/^history\.sweepAfterMs \(1000\) must exceed/),
    ])
  })

  test('of syntax are all reported, with the wrong variables', () => {
    expect(mistakes({ PORT: 'abc' }, 'server: { port: 1\nhistory: [')).toEqual([
      expect.stringMatching(/tidemark\.yaml is not YAML: /),
      expect.stringMatching(/tidemark\.yaml is not YAML: /),
      expect.stringMatching(/^server\.port: "abc" is not possible: .* \(set by PORT\)$/),
    ])
  })

  test.each(['PORT', 'HOST', 'TIDEMARK_MODE', 'TIDEMARK_DATA', 'TIDEMARK_JWT_SECRET', 'TIDEMARK_REDIS_TLS', 'TIDEMARK_CONFIG'])(
    '%s with only blanks is refused, and an empty one counts as unset',
    (name) => {
      const flags = name === 'TIDEMARK_CONFIG' ? { config: undefined } : {}
      expect(mistakes({ [name]: ' \t' }, '{}', flags)).toEqual([`${name} has only blanks: give it a value, or unset it`])
      expect(mistakes({ [name]: '' }, '{}', flags)).toEqual([])
    },
  )

  test.each(['port', 'host', 'data', 'workers', 'supergraph'] as const)(
    '--%s with only blanks is refused, and an empty one counts as unset',
    (flag) => {
      expect(mistakes({}, '{}', { [flag]: ' ' })).toEqual([`--${flag} has only blanks: give it a value, or leave it out`])
      expect(mistakes({}, '{}', { [flag]: '' })).toEqual([])
    },
  )

  test('of --config are one sentence with advice', () => {
    for (const config of ['', ' ']) expect(mistakes({}, '{}', { config })).toEqual(['--config names no file: name one, or leave it out'])
    expect(mistakes({}, '{}', { config: folder })).toEqual([
      `${folder} is a folder: give --config or TIDEMARK_CONFIG the configuration file, such as ${join(folder, 'tidemark.yaml')}`,
    ])
  })

  test('are all reported at once, each with its source', () => {
    const file = join(folder, 'tidemark.yaml')
    const environment = { PORT: 'abc', TIDEMARK_MODE: 'live' }
    expect(mistakes(environment, 'history: { timelineCap: many }\nsrver: 1', { workers: '99' })).toEqual([
      'server.port: "abc" is not possible: give a number (set by PORT)',
      'server.workers: 99 is not possible: give at most 64 (set by --workers)',
      'server.mode: "live" is not possible: say development or production (set by TIDEMARK_MODE)',
      `history.timelineCap: "many" is not possible: give a number (set in ${file})`,
      `srver is not a setting: remove it, or see docs/reference/configuration.md for the names (set in ${file})`,
    ])
  })

  test('a section that is not a mapping is reported, although the environment sets something in it', () => {
    expect(mistakes({ TIDEMARK_DATA: '/x' }, 'stores: 5')).toEqual([expect.stringContaining('stores: 5 is not possible: give a mapping')])
    expect(mistakes({}, 'stores: 5')).toHaveLength(1)
  })

  test('a missing value is named with the variable that would set it', () => {
    const [sentence] = mistakes({ ...STORES, TIDEMARK_KAFKA_PASSWORD: 'p' })
    expect(sentence).toBe('stores.kafka.sasl.username: it is missing: give a text (TIDEMARK_KAFKA_USERNAME)')
  })

  test('a secret is never shown', () => {
    const text = 'auth: { secret: 12345678 }\nstores: { mysql: { url: "postgres://u:hidden@h/d" } }'
    const told = mistakes({ TIDEMARK_REDIS_PASSWORD: '' }, text).join('\n')
    expect(told).toContain('auth.secret')
    expect(told).toContain('write mysql://')
    expect(told).not.toMatch(/12345678|hidden/)
  })

  test('a retention that is neither a number of days nor forever is refused', () => {
    expect(mistakes({}, 'history: { retentionDays: never }')[0]).toContain('"never" is not possible: give a whole number of days')
  })

  test.each(['ca', 'cert', 'key'])('an invalid %s is named', (part) => {
    const text = `stores: { redis: { urls: ["redis://a"], tls: { ${part}: garbage } }, kafka: { brokers: ["b:1"] }, mysql: { url: "mysql://c/d" } }`
    expect(mistakes({}, text)[0]).toContain(`stores.redis.tls.${part}: this is not a `)
  })
})

describe('the stores of one business', () => {
  const common = 'stores: { redis: { urls: ["redis://a"] }, kafka: { brokers: ["b:1"] }, mysql: { url: "mysql://c/d" } }'
  const withStores = (stores: string) =>
    `${common}\nbusinesses: [{ number: 1, name: article, entity: Article, thumbup: { stores: ${stores} } }]`

  test('have their secrets from files, relative to the configuration', () => {
    write('article.pw', 'of-the-article\n')
    makeCertificate()
    const tls = 'tls: { ca: { file: ca.pem }, cert: { file: ca.pem }, key: { file: key.pem } }'
    const mysql = `mysql: { url: "mysql://u@article/own", password: { file: article.pw }, ${tls} }`
    const redis = `redis: { urls: ["redis://article"], second: { urls: ["redis://other"], password: { file: article.pw } } }`
    const own = settings({}, withStores(`{ ${mysql}, ${redis} }`)).businesses[0]?.thumbup.stores
    expect(own?.mysql?.password).toBe('of-the-article')
    expect(own?.redis?.second?.password).toBe('of-the-article')
    expect(own?.mysql?.tls?.ca).toContain('BEGIN CERTIFICATE')
    expect(own?.mysql?.tls?.key).toContain('PRIVATE KEY')
  })

  test('a missing secret file is named', () => {
    expect(mistakes({}, withStores('{ mysql: { url: "mysql://u@article/own", password: { file: nowhere.pw } } }'))[0]).toContain(
      `the secret file ${join(folder, 'nowhere.pw')} cannot be read`,
    )
  })

  test('have valid certificates, or the invalid ones are named', () => {
    const own = 'redis: { urls: ["redis://article"], tls: { ca: garbage }, second: { urls: ["redis://other"], tls: { key: garbage } } }'
    expect(mistakes({}, withStores(`{ ${own} }`))).toEqual([
      expect.stringContaining('businesses: article: thumbup.stores.redis.tls.ca: this is not a certificate'),
      expect.stringContaining('businesses: article: thumbup.stores.redis.second.tls.key: this is not a private key'),
      expect.stringContaining('businesses: article: thumbup.stores.redis.second.tls: a client certificate and its key belong together'),
    ])
  })
})

describe('the environment', () => {
  test('sets users, mechanism, Cluster and TLS', () => {
    const { stores } = settings({
      ...STORES,
      TIDEMARK_REDIS_CLUSTER: 'true',
      TIDEMARK_REDIS_TLS: 'true',
      TIDEMARK_KAFKA_USERNAME: 'u',
      TIDEMARK_KAFKA_PASSWORD: 'p',
      TIDEMARK_KAFKA_MECHANISM: 'plain',
      TIDEMARK_KAFKA_TLS: 'false',
      TIDEMARK_MYSQL_TLS: makeCertificate(),
    })
    expect(stores.redis).toMatchObject({ cluster: true, tls: {} })
    expect(stores.kafka).toMatchObject({ sasl: { username: 'u', password: 'p', mechanism: 'plain' } })
    expect(stores.kafka?.tls).toBeUndefined()
    expect(stores.mysql?.tls?.ca).toContain('BEGIN CERTIFICATE')
  })

  test('a TLS switch that is neither true nor a file is refused', () => {
    expect(mistakes({ ...STORES, TIDEMARK_REDIS_TLS: '/nowhere.pem' })[0]).toMatch(
      /^TIDEMARK_REDIS_TLS is "\/nowhere.pem", which is neither/,
    )
    expect(mistakes({ ...STORES, TIDEMARK_REDIS_CLUSTER: 'yes' })[0]).toContain('"yes" is not possible: give true or false')
  })

  test('an unknown variable is reported, with the most similar known one', () => {
    const warned: string[] = []
    readSettings({}, { TIDEMARK_REDIS_ULR: 'x', TIDEMARK_QQQQQQQQQQQQQQQQQQQQQQ: '1', OTHER: '1' }, (sentence) => warned.push(sentence))
    expect(warned).toEqual([
      'TIDEMARK_REDIS_ULR is not a variable of Tidemark and is ignored: is TIDEMARK_REDIS_URL meant?',
      'TIDEMARK_QQQQQQQQQQQQQQQQQQQQQQ is not a variable of Tidemark and is ignored',
    ])
  })
})

test('the consumer group of the jobs follows the topic prefix, so that two deployments on one Kafka share nothing', () => {
  expect(settings(STORES).stores.kafka?.groupId).toBe('tidemark-history')
  const own = (kafka: string) => settings(STORES, `stores: { kafka: ${kafka} }`).stores.kafka?.groupId
  expect(own('{ topicPrefix: other }')).toBe('other-history')
  expect(own('{ topicPrefix: other, groupId: mine }')).toBe('mine')
})

function makeCertificate(): string {
  const path = join(folder, 'ca.pem')
  const args = [
    'req',
    '-x509',
    '-newkey',
    'rsa:2048',
    '-nodes',
    '-days',
    '1',
    '-subj',
    '/CN=test',
    '-keyout',
    join(folder, 'key.pem'),
    '-out',
    path,
  ]
  execFileSync('openssl', args, { stdio: 'ignore' })
  expect(readFileSync(path, 'utf8')).toContain('BEGIN CERTIFICATE')
  return path
}

test('manifests are relative to the configuration file', () => {
  const { persisted } = settings({}, 'persisted: { manifests: [manifests, /all/web.json] }')
  expect(persisted.manifests).toEqual([join(folder, 'manifests'), '/all/web.json'])
})
