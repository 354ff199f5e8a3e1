/**
 * The schema of the configuration. Each key has a range, a default and a description; `npm run reference` makes
 * docs/reference/configuration.md of them. The command reads the configuration once, freezes it and passes it on. No other code reads
 * files or the environment.
 *
 * Sources in order, a later one wins: defaults, tidemark.yaml, the environment, flags. Every mistake is one sentence that starts with the
 * path of the key.
 */
import { z } from 'zod'
import { issuesBeside, mistakesOf, relationsBeside, withoutWrong, type ConfigSource } from './mistakes.ts'
import { deepFreeze, mergeValues } from './merge.ts'
import { TidemarkError } from '../core/errors.ts'

import { count, DAY, MINUTE } from './values.ts'
import { corsSchema, identitySchema, limitsSchema, persistedSchema, PERSISTED_MODES, remoteSchema } from './gateway.ts'
import { cacheSchema } from './cache.ts'
import { feedMistakes, feedSectionSchema, FOLLOW_BUSINESS } from './feed.ts'
import { existenceMistakes, existenceSchema } from './feed-existence.ts'
import { liveSchema } from './live/live-settings.ts'
import { legacyMistakes } from './legacy.ts'
import { privacySchema } from './privacy.ts'
import { storesSchema } from './stores.ts'
import { accessLogSchema, adminSchema, logLevelSchema, observingMistakes } from './observing.ts'
import { RESERVED_TYPES } from './reserved-types.ts'
import { businessThumbupSchema, tenantMistakes, thumbupMistakes, thumbupSchema } from './thumbup.ts'
import { businessExistenceSchema, businessHistorySchema } from './tenants.ts'
import { rewardsSchema, timeZoneSchema } from './rewards.ts'
import { CONFLICT_RULES } from '../core/domain.ts'

const businessSchema = z
  .object({
    number: count(1, 65_535)
      .refine((number) => number !== FOLLOW_BUSINESS, `${FOLLOW_BUSINESS} is the number of follows: use 1 to ${FOLLOW_BUSINESS - 1}`)
      .describe('The number of the business in stores and logs. Never change or reuse it. 65535 is reserved for follows.'),
    name: z
      .string()
      .regex(/^[a-z][a-z0-9-]{0,31}$/, 'use 1 to 32 of a-z, 0-9 and -, beginning with a letter')
      .describe('The name of the business in the API.'),
    entity: z
      .string()
      .regex(/^[A-Z][A-Za-z0-9]{0,63}$/, 'use a GraphQL type name such as Video')
      .describe('The type of its subjects in the graph. Other subgraphs may extend it.'),
    enabled: z
      .boolean()
      .default(true)
      .describe(
        'Whether the business takes writes. If not, reports, likes, dislikes, plays, served subjects and posts are refused with `BUSINESS_DISABLED`. Reads, deletions and undoing marks still work.',
      ),
    conflict: z
      .enum(CONFLICT_RULES)
      .default('newest')
      .describe('The rule between reports of several devices: the newest report wins, or the one with the furthest position.'),
    glanceMax: count(0, 2 ** 31 - 1)
      .default(5_000)
      .describe('A report of a lower position is a glance, which never replaces a resume point. In the unit of position.'),
    finishedPercent: count(50, 100).default(95).describe('A subject counts as finished from this percentage of its duration on.'),
    playedFrom: count(0, 2 ** 31 - 1)
      .optional()
      .describe(
        'A subject counts as played from this position on, for feed existence. A finished subject always does. In the unit of position. Default: `glanceMax`, and never at 0.',
      ),
    timeZone: timeZoneSchema
      .optional()
      .describe('The time zone of the days for which its viewers are rewarded. Default: `rewards.timeZone`.'),
    counters: z
      .record(z.string().regex(/^[a-z][A-Za-z0-9]{0,31}$/, 'use 1 to 32 letters and digits, beginning with a small letter'), count(1, 48))
      .optional()
      .describe(
        'Counters of its subjects with their bits, such as `{ view: 32 }`, besides those of posts. Larger totals are kept too, but take more memory. With Redis, a change takes the steps of `docs/operating/feed-data.md`.',
      ),
    history: businessHistorySchema.optional().describe('Quotas of the history of this business.'),
    existence: businessExistenceSchema.optional().describe('Quotas of feed existence of this business.'),
    thumbup: businessThumbupSchema.default({}).describe('Likes and dislikes of this business.'),
  })
  .strict()

export const DEFAULT_BUSINESSES = [
  { number: 1, name: 'video', entity: 'Video' },
  { number: 2, name: 'article', entity: 'Article', glanceMax: 0 },
  { number: 3, name: 'comic', entity: 'Comic', glanceMax: 0 },
  { number: 4, name: 'post', entity: 'Post', glanceMax: 0 },
] as const

export const configSchema = z
  .object({
    server: z
      .object({
        host: z.string().min(1).default('127.0.0.1').describe('The address to listen on. `0.0.0.0` listens on all.'),
        port: count(0, 65_535).default(4000).describe('The port to listen on. 0 picks a free one.'),
        admin: adminSchema,
        logLevel: logLevelSchema,
        accessLog: accessLogSchema,
        workers: count(1, 64).default(1).describe('Processes that answer requests and share the data folder.'),
        mode: z
          .enum(['development', 'production'])
          .default('development')
          .describe(
            'Production accepts signed tokens only. Development also accepts the header `x-viewer-id`, and serves GraphiQL and the web pages.',
          ),
        bodyBytesMax: count(1_024, 16_777_216).default(1_048_576).describe('Size limit of a request body.'),
        operationDepthMax: count(1, 100).default(15).describe('Levels of selection in one operation.'),
        operationTokensMax: count(100, 100_000).default(5_000).describe('Tokens in one operation.'),
        operationFieldsMax: count(10, 100_000)
          .default(1_000)
          .describe('Fields that one operation selects, after its fragments are spread.'),
        operationMutationsMax: count(1, 1_000).default(10).describe('Mutations in one operation. Each of them may carry a batch.'),
        operationCostMax: count(1, 100_000_000)
          .default(10_000)
          .describe(
            'Cost of one operation with its variables: 1 per object, times the lengths of the lists around it, 10 per mutation, and 1 per ten values of introspection.',
          ),
        subscriptionsCostMax: count(1, 100_000_000)
          .default(10_000)
          .describe('Cost of all open subscriptions of one WebSocket, counted as for `limits.openCost`.'),
        listSizeAssumed: count(1, 1_000)
          .default(5)
          .describe('The assumed length of a list if neither its arguments nor `@listSize` give one, or if the given one is below 1.'),
        introspection: z.boolean().default(true).describe('Whether clients may read the schema.'),
        authorizationDirectives: z
          .boolean()
          .default(true)
          .describe(
            'Whether the published SDL of a subgraph has `@authenticated` and `@requiresScopes`. Set false for gateways that refuse them. The subgraph checks viewers and scopes in either case.',
          ),
        pages: z
          .array(z.enum(['home', 'demo', 'console']))
          .optional()
          .describe(
            'Web pages to serve: home at `/`, the demo at `/demo`, the console for operators at `/console`. Default: all in development, none in production.',
          ),
        trustProxy: z
          .union([count(0, 32), z.array(z.string().regex(/^[0-9a-fA-F:.]+(\/\d{1,3})?$/, 'write an address or a CIDR range')).min(1)], {
            errorMap: () => ({ message: 'give the number of proxies in a row, or a list of their addresses' }),
          })
          .default(0)
          .describe('The proxies with a trusted `x-forwarded-for`: their number in a row, or their addresses.'),
        cors: corsSchema
          .optional()
          .describe('Web pages of other origins that may call the API. Default: none in production, pages of this machine in development.'),
        compressFromBytes: z
          .union([count(1, 1_073_741_824), z.literal('off')], {
            errorMap: () => ({ message: 'give a number of bytes from 1 to 1073741824, or off' }),
          })
          .default(1_024)
          .describe(
            'Answers of at least this size are compressed for clients that accept zstd, br or gzip. Smaller answers fit into one packet. Compression takes at most a tenth of the time. `off`: no compression, for instance behind a proxy that compresses.',
          ),
        hosts: z
          .array(z.string().regex(/^[A-Za-z0-9.-]{1,253}$/, 'write a name such as dev.example, without a port'))
          .default([])
          .describe(
            'Host names that a process in development answers, besides `localhost`, addresses and names without a dot. In production it answers every name.',
          ),
        forwardHeaders: z
          .array(z.string().regex(/^[a-z0-9-]{1,64}$/, 'write header names in lower case'))
          .default([])
          .describe(
            'Headers of the client that remote subgraphs receive. Add `authorization` or `cookie` only if the subgraphs need them.',
          ),
        clientMemoryBytesMax: count(1_048_576, 17_179_869_184)
          .default(67_108_864)
          .describe(
            'Memory budget for values that clients make a process keep: prepared operations, their variants, compiled fetches, answers to introspection, and registered and recorded texts. Operations of manifests are not counted.',
          ),
        supergraph: z
          .string()
          .min(1)
          .optional()
          .describe("A supergraph.yaml with partners' subgraphs, or a composed supergraph. Default: the subgraphs of Tidemark alone."),
        garbagePercent: count(0, 1_000)
          .default(50)
          .describe(
            'Growth of the heap between two full garbage collections, relative to the live objects. A lower value saves memory and costs CPU. 0: V8 decides, up to 300.',
          ),
        drainMaxMs: count(0, 600_000).default(20_000).describe('Time limit of a shutdown.'),
        drainDelayMs: count(0, 60_000)
          .optional()
          .describe(
            'Time at the start of a shutdown in which the process still accepts requests while `/health/ready` answers 503. At most half of `drainMaxMs`. Default: 2000 in production, else 0.',
          ),
      })
      .strict()
      .default({}),
    auth: z
      .object({
        secret: z
          .string()
          .min(32, 'an HS256 key needs at least 32 bytes')
          .optional()
          .describe('The key of HS256 tokens, at least 32 bytes.'),
        publicKey: z.string().optional().describe('The public key of RS256, ES256 or EdDSA tokens, in PEM form.'),
        jwksUrl: z
          .string()
          .regex(/^(https:\/\/|http:\/\/(localhost|127\.0\.0\.1|\[::1\])[:/])/, 'write https://…, or http:// for this machine')
          .optional()
          .describe('The address at which the issuer publishes its keys. Use it in place of `secret` or `publicKey`.'),
        algorithms: z
          .array(z.enum(['HS256', 'HS384', 'HS512', 'RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'EdDSA', 'Ed25519']))
          .min(1)
          .optional()
          .describe('The accepted signature algorithms. Default: those of the kind of key.'),
        clockToleranceSeconds: count(0, 300)
          .default(0)
          .describe('Accepted difference between the clocks of the issuer and of this server.'),
        identity: identitySchema.optional(),
        issuer: z.string().min(1).optional().describe('The issuer that every token must name.'),
        audience: z.string().min(1).optional().describe('The audience that every token must name.'),
      })
      .strict()
      .default({}),
    businesses: z
      .array(businessSchema)
      .min(1)
      .max(256)
      .default([...DEFAULT_BUSINESSES])
      .describe('The tenants. A live version adds and changes them without a restart.'),
    remote: remoteSchema.default({}).describe('Limits of calls to remote subgraphs.'),
    history: z
      .object({
        timelineCap: count(10, 100_000).default(1_000).describe('Entries of the hot timeline, per viewer and business.'),
        retentionDays: z
          .union([count(1, 36_500), z.literal('forever')], {
            errorMap: () => ({ message: 'give a whole number of days from 1 to 36500, or "forever"' }),
          })
          .default(90)
          .describe(
            'A record is removed this long after its last write, or never with `forever`. On Redis, an increase applies to each viewer at their next write.',
          ),
        flushKeysMax: count(1, 100_000).default(500).describe('A region is flushed when the aggregator holds this many keys of it.'),
        flushAgeMaxMs: count(1, 3_600_000).default(60_000).describe('A region is flushed when its oldest key has this age.'),
        aggregatorKeysMax: count(1, 10_000_000)
          .default(1_000_000)
          .describe('Keys of all regions that the aggregator holds. Further keys are left to the sweeper.'),
        sweepAfterMs: count(1, DAY)
          .default(5 * MINUTE)
          .describe('The sweeper persists a dirty mark of this age, because no flush carried it.'),
        sweepEveryMs: count(1, DAY).default(30_000).describe('Interval between two sweeps.'),
        persistKeysMax: count(1, 100_000).default(5_000).describe('Keys of one persist step.'),
        progressTopic: z
          .boolean()
          .default(false)
          .describe('Jobs also send persisted progress to the topic `.progress`, for analytics. Run `tidemark migrate` after setting it.'),
        purgeEveryMs: count(1, 7 * DAY)
          .default(3_600_000)
          .describe('Interval between two purges of expired records.'),
      })
      .strict()
      .default({}),
    thumbup: thumbupSchema.default({}),
    existence: existenceSchema.default({}),
    cache: cacheSchema.default({}),
    feed: feedSectionSchema.default({}),
    rewards: rewardsSchema.default({}),
    limits: limitsSchema.default({}),
    persisted: persistedSchema.default({}),
    live: liveSchema.default({}),
    supergraph: z
      .object({
        pollMs: count(0, DAY)
          .default(10_000)
          .describe('Interval between two checks of `server.supergraph` and the addresses in it. 0: no checks. Files are watched as well.'),
        fetchTimeoutMs: count(1, 600_000).default(5_000).describe('Time limit for a `subgraph_url` to return its schema.'),
      })
      .strict()
      .default({}),
    stores: storesSchema.default({}),
    privacy: privacySchema.default({}),
  })
  .strict()

export type Config = z.infer<typeof configSchema>
export type BusinessConfig = Config['businesses'][number]

/**
 * Validates the merged sources. Throws CONFIG_INVALID with one sentence per mistake, joined by newlines: unreadable settings, invalid
 * values, and relations between valid values. `moreMistakes` are checked last.
 */
export function makeConfig(
  sources: readonly ConfigSource[],
  moreMistakes: (config: Config) => readonly string[] = () => [],
  mistakesOfFiles: (config: Config) => readonly string[] = () => [],
): Config {
  const merged = sources.reduce<unknown>((result, source) => mergeValues(result, source.values), {})
  const unread = sources.flatMap((source) => source.mistakes ?? [])
  const parsed = configSchema.safeParse(merged)
  const issues = parsed.success ? [] : issuesBeside(unread, parsed.error.issues, merged)
  const mistakes = [...unread.map(({ sentence }) => sentence), ...mistakesOf(issues, merged, sources)]
  const possible = parsed.success ? parsed : configSchema.safeParse(withoutWrong(merged, parsed.error.issues))
  if (possible.success) {
    const impossible = (parsed.error?.issues ?? []).filter(({ code }) => code !== 'unrecognized_keys')
    const wrong = [...unread.map(({ path }) => path), ...impossible.map(({ path }) => path.join('.'))]
    mistakes.push(...relationsBeside(wrong, [...relationMistakes(possible.data), ...moreMistakes(possible.data)]))
    mistakes.push(...mistakesOfFiles(possible.data))
  }
  if (mistakes.length > 0 || !parsed.success) throw new TidemarkError('CONFIG_INVALID', mistakes.join('\n'))
  return deepFreeze(parsed.data)
}

/** For processes that answer requests. Jobs and commands verify no tokens, and need no key. */
export function missingKeys({ server, auth }: Config): string[] {
  if (server.mode !== 'production' || countKeys(auth) > 0) return []
  return ['auth: production needs auth.secret (TIDEMARK_JWT_SECRET), auth.publicKey or auth.jwksUrl, or every request is refused']
}

function countKeys({ secret, publicKey, jwksUrl }: Config['auth']): number {
  return [secret, publicKey, jwksUrl].filter((each) => each !== undefined).length
}

/** Relations between values, each with its reason. */
function relationMistakes(config: Config): string[] {
  const mistakes: string[] = []
  const { history, businesses, server, auth, persisted, stores, limits } = config
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
  mistakes.push(...thumbupMistakes(config.thumbup, stores), ...tenantMistakes(businesses, stores))
  mistakes.push(...existenceMistakes(config.existence, stores.regions), ...legacyMistakes(config.existence.legacy, businesses))
  mistakes.push(...feedMistakes(config), ...observingMistakes(server))
  for (const key of ['number', 'name', 'entity'] as const) {
    for (const value of repeated(businesses.map((business) => business[key])))
      mistakes.push(`businesses: the ${key} ${value} occurs twice; each business needs its own`)
  }
  for (const business of businesses) {
    if (RESERVED_TYPES.has(business.entity))
      mistakes.push(`businesses: the entity ${business.entity} is a type of Tidemark's own; choose another name`)
  }
  if (server.mode === 'production' && auth.jwksUrl !== undefined && (auth.issuer === undefined || auth.audience === undefined)) {
    mistakes.push(
      'auth.jwksUrl needs auth.issuer (TIDEMARK_JWT_ISSUER) and auth.audience (TIDEMARK_JWT_AUDIENCE) in production: an issuer signs tokens for many services with the same keys, and each of them would be let in',
    )
  }
  if (auth.secret !== undefined && auth.secret === auth.identity?.secret) {
    mistakes.push('auth.identity.secret must differ from auth.secret: the issuer of client tokens is not the gateway')
  }
  if (auth.identity?.secret !== undefined && (auth.identity.privateKey ?? auth.identity.publicKey) !== undefined) {
    mistakes.push('auth.identity: set either secret, or privateKey and publicKey, so that one kind of key is trusted')
  }
  if (server.cors?.origins.includes('*') && server.cors.credentials) {
    mistakes.push('server.cors: origins "*" with credentials would let every web page act for its visitors: name the origins')
  }
  for (const name of server.forwardHeaders.filter((each) => NOT_FORWARDED.test(each))) {
    mistakes.push(`server.forwardHeaders: ${name} belongs to one connection or to the gateway itself; leave it out`)
  }
  const limited = [limits.viewer, limits.service, limits.client, limits.address, limits.anonymous]
  const isLimited = limited.some((rate) => rate !== undefined && rate !== 'none')
  if (server.mode === 'development' && limits.abuse !== undefined && limits.abuse !== 'none' && !isLimited) {
    mistakes.push(
      'limits.abuse counts refusals of the other limits, which are off while server.mode is development: set limits.viewer, limits.service, limits.client, limits.address or limits.anonymous as well',
    )
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
  if (countKeys(auth) > 1)
    mistakes.push('auth: set one of auth.secret, auth.publicKey and auth.jwksUrl, so that one kind of key is trusted')
  for (const [client, mode] of Object.entries(persisted.clients)) {
    if (PERSISTED_MODES.indexOf(mode) < PERSISTED_MODES.indexOf(persisted.mode)) {
      mistakes.push(
        `persisted.clients: ${client} is "${mode}", looser than persisted.mode (${persisted.mode}); any client can claim that name, so make the default the loosest`,
      )
    }
  }
  if (persisted.manifests.length === 0 && [persisted.mode, ...Object.values(persisted.clients)].includes('enforce'))
    mistakes.push('persisted: enforce needs persisted.manifests, or no operation could run')
  if (persisted.report === undefined && [persisted.mode, ...Object.values(persisted.clients)].includes('report'))
    mistakes.push('persisted: report mode needs persisted.report, the file in which unknown operations are recorded')
  if (auth.identity !== undefined && Object.keys(auth.identity).length === 0)
    mistakes.push('auth.identity is empty: give secret, or privateKey for a gateway and publicKey for a subgraph, or leave it out')
  return mistakes
}

const NOT_FORWARDED =
  /^(host|connection|keep-alive|upgrade|te|trailer|transfer-encoding|content-.*|accept|accept-encoding|expect|proxy-.*|tidemark-identity|x-viewer-.*)$/

function repeated<T>(values: readonly T[]): Set<T> {
  return new Set(values.filter((value, index) => values.indexOf(value) !== index))
}
