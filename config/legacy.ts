/** The legacy store that viewers are moved from, as its section `existence.legacy`. A part of config.ts. */
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
      .describe('TIDEMARK_LEGACY_URL, separated by commas. Redis 6.2 or later, or Valkey; of a Cluster: some of its nodes.'),
    cluster: z.boolean().optional().describe('True for a Redis Cluster; absent: whether more than one address is given.'),
    username: z.string().optional().describe('TIDEMARK_LEGACY_USERNAME.'),
    password: z.string().optional().describe('TIDEMARK_LEGACY_PASSWORD; or {file: path}.'),
    tls: tlsSchema.optional().describe('TIDEMARK_LEGACY_TLS: true, or the file of the authority to trust.'),
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
        "The key of a viewer's sorted set: {viewer}, {business} (its name) and {number} (its number) are filled in; braces of the keys themselves are written twice.",
      ),
    businesses: z
      .array(z.string())
      .min(1)
      .optional()
      .describe('Names of the businesses that have plays there; absent: all that are configured.'),
    score: z
      .enum(LEGACY_SCORES)
      .default('ms')
      .describe('What scores are: milliseconds or seconds since the epoch, or no times; then each play counts as one of now.'),
    writeBack: z.boolean().default(true).describe('Whether plays are written there as well, so that one can go back.'),
    patienceMs: count(1, 60_000).default(300).describe('Milliseconds a request waits for it; then it is answered without, and says so.'),
    absentMs: count(0, 3_600_000)
      .default(10_000)
      .describe('Milliseconds for which a process remembers that a viewer has no set there; 0: it asks each time.'),
    membersPerSecond: count(100, 100_000_000)
      .default(20_000)
      .describe('Members of sets that a process reads per second while it folds them in.'),
  })
  .strict()

export type LegacyConfig = z.infer<typeof legacySchema>

type Named = { name: string; number: number }

/** Those whose plays are there. */
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
      `existence.legacy.key "${legacy.key}" is the same for all businesses: name the one whose plays these are in existence.legacy.businesses, or write {business} or {number} into it`,
    )
  }
  return mistakes
}
