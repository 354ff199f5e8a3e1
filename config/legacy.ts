/** The section `existence.legacy`: the legacy store from which viewers are migrated. A part of config.ts. */
import { z } from 'zod'
import { tlsSchema } from './stores.ts'
import { count } from './values.ts'
import { unknownParts } from './legacy-key.ts'

export const LEGACY_SCORES = ['ms', 'seconds', 'none'] as const
export const LEGACY_KEY = 'played:{business}:{viewer}'

export const legacySchema = z
  .object({
    urls: z
      .array(z.string().regex(/^rediss?:\/\//, 'write redis://host:port, or rediss:// for TLS'))
      .min(1, 'name one address at least, or leave existence.legacy out')
      .describe(
        'Addresses of the server; of a Cluster, some of its nodes. Redis 6.2 or later, or Valkey. The variable separates them by commas.',
      ),
    cluster: z.boolean().optional().describe('Whether the server is a Redis Cluster. Default: true if there is more than one address.'),
    username: z.string().optional().describe('User name of this Redis.'),
    password: z.string().optional().describe('Password of this Redis.'),
    tls: tlsSchema.optional().describe('TLS to this Redis. The variable is `true`, or the PEM file of the trusted authority.'),
    key: z
      .string()
      .max(512)
      .refine((key) => key.includes('{viewer}'), 'write {viewer} where the id of the viewer stands')
      .superRefine((key, mistakes) => {
        const [unknown] = unknownParts(key)
        if (unknown === undefined) return
        const message = `${unknown} stands for nothing: write {viewer}, {business} or {number}; if keys have these braces themselves, {${unknown}}`
        mistakes.addIssue({ code: 'custom', message })
      })
      .default(LEGACY_KEY)
      .describe(
        "The key of a viewer's sorted set. `{viewer}`, `{business}` (the name) and `{number}` are filled in. Braces of the keys themselves are written twice.",
      ),
    businesses: z
      .array(z.string())
      .min(1)
      .optional()
      .describe('Names of the businesses with plays in this store. Default: all configured businesses.'),
    score: z
      .enum(LEGACY_SCORES)
      .default('ms')
      .describe(
        'The unit of scores: milliseconds or seconds since the epoch. With `none`, scores are not times, and each play counts as one of now.',
      ),
    writeBack: z.boolean().default(true).describe('Whether new plays are also written to this store, so that a return to it is possible.'),
    patienceMs: count(1, 60_000)
      .default(300)
      .describe('Time that a request waits for this store. Then the answer lacks it and names it in `extensions.degraded`.'),
    absentMs: count(0, 3_600_000)
      .default(10_000)
      .describe('Time for which a process remembers that a viewer has no set in this store. 0: it reads each time.'),
    membersPerSecond: count(100, 100_000_000)
      .default(20_000)
      .describe('Members of sets that a process reads per second during the migration.'),
  })
  .strict()

export type LegacyConfig = z.infer<typeof legacySchema>

type Named = { name: string; number: number }

/** The businesses with plays in the legacy store. */
export function legacyBusinesses<B extends Named>(legacy: LegacyConfig, businesses: readonly B[]): B[] {
  return businesses.filter(({ name }) => legacy.businesses?.includes(name) ?? true)
}

/** Relations between values, each with its reason. */
export function legacyMistakes(legacy: LegacyConfig | undefined, businesses: readonly Named[]): string[] {
  if (legacy === undefined) return []
  const known = businesses.map(({ name }) => name)
  const unknown = (legacy.businesses ?? []).filter((name) => !known.includes(name))
  const mistakes = unknown.map((name) => `existence.legacy.businesses: "${name}" is not configured: use ${known.join(', ')}`)
  if (!/\{business\}|\{number\}/.test(legacy.key) && legacyBusinesses(legacy, businesses).length > 1) {
    mistakes.push(
      `existence.legacy.key "${legacy.key}" is the same for all businesses: name the business of these plays in existence.legacy.businesses, or write {business} or {number} into it`,
    )
  }
  return mistakes
}
