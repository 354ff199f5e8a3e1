/**
 * The whole configuration: one schema, each key with unit, range, default and a sentence. Read once by the command,
 * frozen, and passed on; nothing else reads files or the environment.
 *
 * Order: defaults, then tidemark.yaml, then the environment, then flags. Every mistake is one sentence that starts with
 * the key's path.
 */
import { z } from 'zod'
import { TidemarkError } from './errors.ts'
import { CONFLICT_RULES } from './merge.ts'

const count = (minimum: number, maximum: number) => z.number().int().min(minimum).max(maximum)
const MINUTE = 60_000
const DAY = 86_400_000

const businessSchema = z
  .object({
    number: count(1, 65_535).describe('What stores and logs hold. Never change it, never reuse it.'),
    name: z
      .string()
      .regex(/^[a-z][a-z0-9-]{0,31}$/, 'use 1 to 32 of a-z, 0-9 and -, beginning with a letter')
      .describe('What the API calls it.'),
    entity: z
      .string()
      .regex(/^[A-Z][A-Za-z0-9]{0,63}$/, 'use a GraphQL type name such as Video')
      .describe('The entity type in the graph that other subgraphs extend.'),
    conflict: z
      .enum(CONFLICT_RULES)
      .default('newest')
      .describe('Which report wins between devices: the newest, or the one that is furthest.'),
    glanceMax: count(0, 2 ** 31 - 1)
      .default(5_000)
      .describe('A report of a position below this is a glance: it never wipes a resume point. In the unit of position.'),
    finishedPercent: count(50, 100).default(95).describe('From this percentage of the duration on a subject counts as finished.'),
  })
  .strict()

const tlsSchema = z
  .object({
    ca: z.string().optional().describe('PEM of the authority to trust instead of the system; or {file: path}.'),
    cert: z.string().optional().describe('PEM of a client certificate, where the server asks for one; or {file: path}.'),
    key: z.string().optional().describe('PEM of its key; or {file: path}.'),
  })
  .strict()
  .describe('Given, connections are encrypted and the server is verified; {} trusts the authorities of the system.')

const redisSchema = z
  .object({
    urls: z
      .array(z.string().regex(/^rediss?:\/\//, 'write redis://host:port, or rediss:// for TLS'))
      .min(1)
      .describe('TIDEMARK_REDIS_URL, separated by commas. Of a Cluster: some of its nodes.'),
    cluster: z.boolean().optional().describe('True for a Redis Cluster; absent: whether more than one address is given.'),
    username: z.string().optional(),
    password: z.string().optional().describe('TIDEMARK_REDIS_PASSWORD; or {file: path}.'),
    tls: tlsSchema.optional(),
    prefix: z.string().min(1).max(32).default('tm').describe('What all keys begin with, for deployments that share a server.'),
  })
  .strict()

const kafkaSchema = z
  .object({
    brokers: z
      .array(z.string().regex(/^[^\s:]+:\d+$/, 'write host:port'))
      .min(1)
      .describe('TIDEMARK_KAFKA_BROKERS, separated by commas.'),
    tls: tlsSchema.optional(),
    sasl: z
      .object({
        mechanism: z.enum(['plain', 'scram-sha-256', 'scram-sha-512']).default('scram-sha-512'),
        username: z.string().min(1),
        password: z.string().min(1).describe('TIDEMARK_KAFKA_PASSWORD; or {file: path}.'),
      })
      .strict()
      .optional(),
    topicPrefix: z
      .string()
      .regex(/^[A-Za-z0-9._-]{1,100}$/, 'use letters, digits, dots, _ and -')
      .default('tidemark')
      .describe('What the names of the topics begin with.'),
    groupId: z.string().min(1).default('tidemark-history').describe('The group of the jobs.'),
    partitions: count(1, 10_000).default(12).describe('Partitions that `tidemark migrate` creates: the most jobs that can share the work.'),
  })
  .strict()

const mysqlSchema = z
  .object({
    url: z
      .string()
      .regex(/^mysql:\/\//, 'write mysql://user@host:port/database')
      .describe('TIDEMARK_MYSQL_URL.'),
    user: z.string().optional(),
    password: z.string().optional().describe('TIDEMARK_MYSQL_PASSWORD; or {file: path}.'),
    tls: tlsSchema.optional(),
    connectionsMax: count(1, 1_000).default(8).describe('Connections of one process.'),
  })
  .strict()

const storesSchema = z
  .object({
    data: z.string().min(1).default('./data').describe('TIDEMARK_DATA, --data. The folder of the embedded stores and of journals.'),
    regions: count(1, 16_384).default(100).describe('Shards of viewers. Fixed for the life of a deployment.'),
    sizeMaxGb: z
      .number()
      .min(0.001)
      .max(65_536)
      .default(64)
      .describe('The most the embedded stores may take, in GB; beyond it writes are refused with STORE_FULL.'),
    redis: redisSchema.optional().describe('The hot store. With kafka and mysql: the distributed shape; without all three: embedded.'),
    kafka: kafkaSchema.optional().describe('The log.'),
    mysql: mysqlSchema.optional().describe('The record store.'),
  })
  .strict()

const remoteSchema = z
  .object({
    timeoutMs: count(1, 600_000)
      .default(5_000)
      .describe('Milliseconds until an answer of a remote subgraph must be whole, all tries included.'),
    retries: count(0, 10).default(2).describe('Further tries of a query that got no answer. Mutations are never tried again.'),
    bodyBytesMax: count(1_024, 1_073_741_824).default(8_388_608).describe('Bytes an answer of a remote subgraph may have, or one event.'),
    connectionsMax: count(1, 10_000).default(64).describe('Connections to one remote subgraph, without those of subscriptions.'),
    dedupe: z.boolean().default(true).describe('Identical queries that are under way at the same time are one call.'),
    failuresMax: count(1, 1_000).default(5).describe('Calls in a row without an answer after which a remote subgraph counts as down.'),
    checkEveryMs: count(1, 600_000).default(1_000).describe('Milliseconds between two questions whether it is back.'),
  })
  .strict()

const configSchema = z
  .object({
    server: z
      .object({
        host: z.string().min(1).default('127.0.0.1').describe('The address to listen on. 0.0.0.0 for all.'),
        port: count(0, 65_535).default(4000).describe('PORT, --port. 0 picks a free one.'),
        workers: count(1, 64).default(1).describe('--workers. Processes that answer requests and share the data folder.'),
        mode: z
          .enum(['development', 'production'])
          .default('development')
          .describe('TIDEMARK_MODE. Development accepts the header x-viewer-id and serves GraphiQL.'),
        bodyBytesMax: count(1_024, 16_777_216).default(1_048_576).describe('Bytes a request body may have.'),
        operationDepthMax: count(1, 100).default(15).describe('Levels of selection an operation may have.'),
        operationTokensMax: count(100, 100_000).default(5_000).describe('Tokens an operation may have.'),
        operationFieldsMax: count(10, 100_000).default(1_000).describe('Fields an operation may select once its fragments are spread.'),
        operationMutationsMax: count(1, 1_000).default(10).describe('Mutations one operation may have, each of which may carry a batch.'),
        compiledMax: count(1, 100_000).default(1_000).describe('Compiled operations kept.'),
        drainMaxMs: count(0, 600_000).default(20_000).describe('Milliseconds a shutdown may take.'),
      })
      .strict()
      .default({}),
    auth: z
      .object({
        secret: z
          .string()
          .min(32, 'an HS256 key needs at least 32 bytes')
          .optional()
          .describe('TIDEMARK_JWT_SECRET. The key of HS256 tokens, at least 32 bytes; or {file: path}.'),
        publicKey: z.string().optional().describe('A PEM public key of RS256, ES256 or EdDSA tokens; or {file: path}.'),
        issuer: z.string().min(1).optional().describe('The issuer every token must name.'),
        audience: z.string().min(1).optional().describe('The audience every token must name.'),
      })
      .strict()
      .default({}),
    businesses: z
      .array(businessSchema)
      .min(1)
      .max(256)
      .default([
        { number: 1, name: 'video', entity: 'Video' },
        { number: 2, name: 'article', entity: 'Article', glanceMax: 0 },
        { number: 3, name: 'comic', entity: 'Comic', glanceMax: 0 },
      ])
      .describe('The tenants. Adding one is a change here and a restart.'),
    remote: remoteSchema.default({}).describe('What remote subgraphs may take; see gateway/transports/remote.ts.'),
    history: z
      .object({
        timelineCap: count(10, 100_000).default(1_000).describe('Entries the hot timeline keeps per viewer and business.'),
        retentionDays: z
          .union([count(1, 36_500), z.literal('forever')])
          .default(90)
          .describe('Days after its last write that a record is kept, or "forever".'),
        futureMaxMs: count(0, DAY)
          .default(5 * MINUTE)
          .describe('How far viewedAt may lie ahead of the clock of the server, in milliseconds.'),
        flushKeysMax: count(1, 100_000).default(500).describe('Keys a region may hold before it is flushed.'),
        flushAgeMaxMs: count(1, 3_600_000).default(60_000).describe('Milliseconds the oldest key of a region may wait for a flush.'),
        aggregatorKeysMax: count(1, 10_000_000)
          .default(1_000_000)
          .describe('Keys all regions may hold together; more are left to the sweeper.'),
        sweepAfterMs: count(1, DAY)
          .default(5 * MINUTE)
          .describe('Age in milliseconds at which a dirty mark that no flush carried is swept.'),
        sweepEveryMs: count(1, DAY).default(30_000).describe('Milliseconds between two sweeps.'),
        persistKeysMax: count(1, 100_000).default(5_000).describe('Keys one persist step takes.'),
        purgeEveryMs: count(1, 7 * DAY)
          .default(3_600_000)
          .describe('Milliseconds between two purges of expired records.'),
      })
      .strict()
      .default({}),
    stores: storesSchema.default({}),
  })
  .strict()

export type Config = z.infer<typeof configSchema>
export type BusinessConfig = Config['businesses'][number]

/** What a file, the environment and flags say, parsed but not validated; later ones win. */
export type ConfigSource = { name: string; values: unknown }

/** Validates the merged sources. Throws CONFIG_INVALID with one sentence per mistake, joined by newlines. */
export function makeConfig(sources: readonly ConfigSource[]): Config {
  const merged = sources.reduce<unknown>((result, source) => mergeValues(result, source.values), {})
  const parsed = configSchema.safeParse(merged)
  const mistakes = parsed.success ? relationMistakes(parsed.data) : parsed.error.issues.flatMap(describeIssue)
  if (mistakes.length > 0 || !parsed.success) throw new TidemarkError('CONFIG_INVALID', mistakes.join('\n'))
  return deepFreeze(parsed.data)
}

function mergeValues(below: unknown, above: unknown): unknown {
  if (above === undefined || above === null) return below
  if (!isPlainObject(below) || !isPlainObject(above)) return above
  const merged: Record<string, unknown> = { ...below }
  for (const [key, value] of Object.entries(above)) merged[key] = mergeValues(below[key], value)
  return merged
}

function isPlainObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function describeIssue(issue: z.ZodIssue): string[] {
  const path = issue.path.join('.') || 'the configuration'
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map(
      (key) => `${[...issue.path, key].join('.')} is not a setting: remove it, or see "Configuration" in README.md for the names`,
    )
  }
  return [`${path}: ${issue.message}`]
}

/** Relations between values, each with its reason. */
function relationMistakes(config: Config): string[] {
  const mistakes: string[] = []
  const { history, businesses, server, auth, stores } = config
  if (history.sweepAfterMs <= history.flushAgeMaxMs) {
    mistakes.push(
      `history.sweepAfterMs (${history.sweepAfterMs}) must exceed history.flushAgeMaxMs (${history.flushAgeMaxMs}), or every key is persisted twice`,
    )
  }
  if (history.aggregatorKeysMax < history.flushKeysMax) {
    mistakes.push(
      `history.aggregatorKeysMax (${history.aggregatorKeysMax}) must be at least history.flushKeysMax (${history.flushKeysMax}), or no flush is ever full`,
    )
  }
  for (const key of ['number', 'name', 'entity'] as const) {
    for (const value of repeated(businesses.map((business) => business[key])))
      mistakes.push(`businesses: the ${key} ${value} occurs twice; each business needs its own`)
  }
  for (const business of businesses) {
    if (RESERVED_TYPES.has(business.entity))
      mistakes.push(`businesses: the entity ${business.entity} is a type of Tidemark's own; choose another name`)
  }
  if (server.mode === 'production' && auth.secret === undefined && auth.publicKey === undefined) {
    mistakes.push('auth: production needs auth.secret (TIDEMARK_JWT_SECRET) or auth.publicKey, or nobody could be let in')
  }
  const named = [stores.redis, stores.kafka, stores.mysql].filter((each) => each !== undefined).length
  if (named !== 0 && named !== 3) {
    mistakes.push('stores: set redis, kafka and mysql together for the distributed shape, or none of them for the embedded one')
  }
  if (stores.redis !== undefined && server.workers > 1) {
    mistakes.push(
      'server.workers shares an embedded data folder: in the distributed shape start more processes instead, as many as you like',
    )
  }
  if (auth.secret !== undefined && auth.publicKey !== undefined)
    mistakes.push('auth: set either auth.secret or auth.publicKey, so that one kind of key is trusted')
  return mistakes
}

const RESERVED_TYPES = new Set([
  ...['Query', 'Mutation', 'Subscription', 'Subject', 'Progress', 'PageInfo', 'User', 'Viewer', 'Timestamp'],
  ...['HistoryConnection', 'HistoryEdge', 'HistoryEntry', 'HistorySettings', 'ProgressInput', 'ReportOutcome', 'ReportProgressPayload'],
  ...['DeleteHistoryPayload', 'ClearHistoryPayload', 'ProgressChange', 'ProgressChangeKind', 'String', 'Int', 'Float', 'Boolean', 'ID'],
])

function repeated<T>(values: readonly T[]): Set<T> {
  return new Set(values.filter((value, index) => values.indexOf(value) !== index))
}

function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null) {
    for (const child of Object.values(value)) deepFreeze(child)
    Object.freeze(value)
  }
  return value
}
