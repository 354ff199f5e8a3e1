/**
 * Checks the rows of a file before any of them is imported: their form, their businesses, ids of posts, and repetitions. A wrong row gets a
 * sentence with its line.
 */
import type { ZodIssue } from 'zod'
import { postBusinessOf } from '../../config/feed.ts'
import type { Config } from '../../config/config.ts'
import { mistakesOf } from '../../config/mistakes.ts'
import { regionOf } from '../../core/regions.ts'
import { isPostId, isRestrictedId, regionOfPost } from '../../subgraphs/feed/packed/post-id.ts'
import type { ReadRow } from './encoding.ts'
import { FEED_KINDS, SCHEMAS, identityOf, type Kind, type Row, type RowOf } from './rows.ts'

export type WrongRow = { line: number; mistake: string }
export type CheckedRows = { good: Row[]; wrong: WrongRow[] }

/** A repetition within the file is wrong: of two rows, one is not of this export. */
export function checkRows(kind: Kind, rows: readonly ReadRow[], config: Config): CheckedRows {
  const names = new Set(config.businesses.map(({ name }) => name))
  const lines = new Map<string, number>()
  const checked: CheckedRows = { good: [], wrong: [] }
  for (const { line, value } of rows) {
    const row = checkRow(kind, value, names, config)
    if (typeof row === 'string') {
      checked.wrong.push({ line, mistake: row })
      continue
    }
    const identity = identityOf(kind, row)
    const earlier = lines.get(identity)
    if (earlier === undefined) {
      lines.set(identity, line)
      checked.good.push(row)
    } else checked.wrong.push({ line, mistake: `it has the same key as line ${earlier}: remove one of them` })
  }
  return checked
}

/** The row, or its mistake. */
function checkRow(kind: Kind, value: unknown, names: ReadonlySet<string>, config: Config): Row | string {
  if (value === undefined) return 'it is not JSON: correct the line'
  const parsed = SCHEMAS[kind].safeParse(value)
  if (!parsed.success) return formMistake(kind, parsed.error.issues, value)
  const row = parsed.data
  if ('business' in row && !names.has(row.business)) return unknownBusiness(row.business)
  switch (kind) {
    case 'settings': {
      const unknown = Object.keys((row as RowOf<'settings'>).clearedAt).find((name) => !names.has(name))
      return unknown === undefined ? row : unknownBusiness(unknown)
    }
    case 'progress': {
      const { since, viewedAt } = row as RowOf<'progress'>
      return since <= viewedAt ? row : `since ${since} is after viewedAt ${viewedAt}: export the row again`
    }
    case 'post':
      return postMistake(row as RowOf<'post'>, config.stores.regions) ?? withFeed(kind, row, config)
    default:
      return withFeed(kind, row, config)
  }
}

function withFeed(kind: Kind, row: Row, config: Config): Row | string {
  if (!FEED_KINDS.has(kind) || postBusinessOf(config) !== undefined) return row
  return `the configuration has no business of posts (feed.business "${config.feed.business}"): add it under businesses`
}

function unknownBusiness(name: string): string {
  return `business "${name.slice(0, 40)}" is not configured: add it under businesses, or remove the row`
}

function formMistake(kind: Kind, issues: readonly ZodIssue[], value: unknown): string {
  const [issue] = issues
  if (issue?.path.length === 0)
    return issue.code === 'unrecognized_keys'
      ? `it is not a row of ${kind}: remove ${issue.keys.join(', ')}`
      : 'it is not a JSON object: correct the line'
  return `it is not a row of ${kind}: ${mistakesOf(issues, value, [])[0] ?? 'correct it'}`
}

function postMistake({ id, author, audience }: RowOf<'post'>, regions: number): string | undefined {
  if (!isPostId(id, regions) || regionOfPost(id) !== regionOf(author, regions))
    return `post ${id} is of another number of regions: import it with the stores.regions of its export`
  if (isRestrictedId(id) === (audience !== undefined)) return undefined
  return audience === undefined
    ? `post ${id} is restricted and has no audience: restore its audience`
    : `post ${id} is public and has an audience: remove the audience`
}
