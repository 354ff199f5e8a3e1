/**
 * The rows of an export, one schema per kind. A row has names of businesses, ids as strings, and times in milliseconds since the Unix epoch.
 * The kinds are in the order in which an import applies them.
 */
import { z } from 'zod'
import { isTidemarkError } from '../../core/errors.ts'
import { checkId } from '../../core/keys.ts'

const id = z.string().superRefine((text, context) => {
  try {
    checkId(text, 'id')
  } catch (error) {
    if (!isTidemarkError(error)) throw error
    context.addIssue({ code: 'custom', message: error.message })
  }
})
const whole = z.number().int().min(0).max(Number.MAX_SAFE_INTEGER)
const place = z
  .number()
  .int()
  .min(0)
  .max(2 ** 31 - 1)
const business = z.string()
const counts = { counts: z.record(z.string(), whole), version: whole }

export const SCHEMAS = {
  settings: z.strictObject({ viewer: id, paused: z.boolean(), clearedAt: z.record(business, whole), version: whole }),
  progress: z.strictObject({
    ...{ viewer: id, business, id, viewedAt: whole, since: whole, rank: whole, version: whole },
    ...{ position: place, duration: place, device: z.string().max(64), finished: z.boolean(), deleted: z.boolean() },
  }),
  owner: z.strictObject({ business, id, owner: id }),
  mark: z.strictObject({ viewer: id, business, id, mark: z.enum(['LIKE', 'DISLIKE', 'NONE']), markedAt: whole, version: whole }),
  follow: z.strictObject({ viewer: id, id, mark: z.enum(['LIKE', 'NONE']), markedAt: whole, version: whole }),
  filter: z.strictObject({ viewer: id, month: z.number().int().min(0).max(65_535), expiresAt: whole, filter: z.string().base64().min(4) }),
  play: z.strictObject({ viewer: id, business, id, playedAt: whole }),
  post: z.strictObject({
    ...{ id, author: id, text: z.string(), media: z.array(z.string()), source: id.optional(), audience: z.array(id).optional() },
    ...{ clientKey: id, version: whole, deleted: z.boolean() },
  }),
  words: z.strictObject({ viewer: id, words: z.array(z.string()), version: whole }),
  count: z.strictObject({ business, id, ...counts }),
  'user-count': z.strictObject({ id, ...counts }),
} as const

export type Kind = keyof typeof SCHEMAS
export type RowOf<K extends Kind> = z.infer<(typeof SCHEMAS)[K]>
export type Row = RowOf<Kind>

export const KINDS = Object.keys(SCHEMAS) as Kind[]

/** Kinds that only a configuration with a feed has. */
export const FEED_KINDS: ReadonlySet<Kind> = new Set<Kind>(['follow', 'post', 'words', 'user-count'])

/** The identity of a row in its kind. */
export function identityOf(kind: Kind, row: Row): string {
  const { viewer, business: name, id: subject, month } = row as Partial<RowOf<'progress'> & RowOf<'filter'>>
  const parts: unknown[] = kind === 'filter' ? [viewer, month] : kind === 'post' ? [subject] : [viewer, name, subject]
  return JSON.stringify(parts)
}

/** A column of a Parquet file. Lists and maps are JSON. */
export type Column = { name: string; type: 'STRING' | 'INT64' | 'BOOLEAN' | 'JSON'; isOptional: boolean }

export function columnsOf(kind: Kind): Column[] {
  return Object.entries(SCHEMAS[kind].shape as Record<string, z.ZodTypeAny>).map(([name, type]) => {
    const isOptional = type instanceof z.ZodOptional
    return { name, type: columnType(isOptional ? (type.unwrap() as z.ZodTypeAny) : type), isOptional }
  })
}

function columnType(type: z.ZodTypeAny): Column['type'] {
  if (type instanceof z.ZodNumber) return 'INT64'
  if (type instanceof z.ZodBoolean) return 'BOOLEAN'
  return type instanceof z.ZodArray || type instanceof z.ZodRecord ? 'JSON' : 'STRING'
}
