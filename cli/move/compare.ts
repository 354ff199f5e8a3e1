/**
 * Compares an export with the stores: each row is read again. A row is equal, or the stores have a newer state of it, or it is missing or
 * differs. Staged plays are found in staging or in a filter.
 */
import { FOLLOW_BUSINESS, postBusinessOf } from '../../config/feed.ts'
import type { BusinessNumber } from '../../core/domain.ts'
import { openFilter } from '../../subgraphs/feed-existence/filter/filter.ts'
import { hashSeen } from '../../subgraphs/feed-existence/filter/hash.ts'
import { MARK_MONTH } from '../../subgraphs/feed-existence/migration/progress.ts'
import { mergeFilters } from '../../subgraphs/feed-existence/filter/filter.ts'
import { monthOf } from '../../subgraphs/feed-existence/model/time-ring.ts'
import { USERS } from '../../subgraphs/feed/model/post-events.ts'
import { postOf, type Target } from './put-rows.ts'
import type { Kind, Row, RowOf } from './rows.ts'

export const FOUND = ['equal', 'newer', 'missing', 'different'] as const
export type Found = (typeof FOUND)[number]

/** In order of rows, which have distinct keys. */
export async function compareRows(target: Target, kind: Kind, rows: readonly Row[]): Promise<Found[]> {
  return COMPARISONS[kind](target, rows)
}

type Comparison = (target: Target, rows: readonly Row[]) => Promise<Found[]>

const comparing =
  <K extends Kind>(compare: (target: Target, rows: readonly RowOf<K>[]) => Promise<Found[]>): Comparison =>
  (target, rows) =>
    compare(target, rows)

const COMPARISONS: Record<Kind, Comparison> = {
  settings: comparing<'settings'>(async ({ stores, businesses }, rows) => {
    const found = await stores.records.getSettingsMany(rows.map(({ viewer }) => viewer))
    return rows.map((row, at) => {
      const own = found[at]
      if (own === undefined) return 'missing'
      const cleared = Object.entries(row.clearedAt).map(([name, moment]) => (own.clearedAt[businesses.byName(name).number] ?? 0) - moment)
      if (cleared.some((ahead) => ahead < 0) || own.version < row.version) return 'different'
      if (own.version > row.version || cleared.some((ahead) => ahead > 0)) return 'newer'
      return own.paused === row.paused ? 'equal' : 'different'
    })
  }),
  progress: comparing<'progress'>(async ({ stores, businesses }, rows) => {
    const found = await stores.records.getProgressMany(
      rows.map((row) => ({ viewer: row.viewer, business: businesses.byName(row.business).number, oid: row.id })),
    )
    return rows.map(({ viewer: _viewer, business: _business, id: _id, ...record }, at) => {
      const own = found[at]
      if (own === undefined) return 'missing'
      if (isEqual(own, record)) return 'equal'
      return own.viewedAt >= record.viewedAt && own.since >= record.since && own.version > record.version ? 'newer' : 'different'
    })
  }),
  owner: comparing<'owner'>(async (target, rows) => {
    const found = await byBusiness(target, rows, (number, some) =>
      marksOf(target, number).records.getOwners(some.map(({ id }) => ({ business: number, oid: id }))),
    )
    return rows.map((row, at) => (found[at] === undefined ? 'missing' : found[at] === row.owner ? 'equal' : 'different'))
  }),
  mark: comparing<'mark'>((target, rows) => byBusiness(target, rows, (number, some) => compareMarks(target, number, some))),
  follow: comparing<'follow'>((target, rows) => compareMarks(target, FOLLOW_BUSINESS, rows)),
  filter: comparing<'filter'>(async ({ stores }, rows) => {
    const found = await stores.seen.records.getFilters(rows)
    return rows.map((row, at) => {
      const own = found[at]?.filter
      const exported = Buffer.from(row.filter, 'base64')
      if (own === undefined) return 'missing'
      if (own.equals(exported)) return 'equal'
      return row.month === MARK_MONTH || mergeFilters(own, exported) === own ? 'newer' : 'different'
    })
  }),
  play: comparing<'play'>(comparePlays),
  post: comparing<'post'>(async ({ stores }, rows) => {
    const found = (await stores.feed?.records.getPostMany(rows.map(({ id }) => id))) ?? []
    return rows.map((row, at) => versioned(found[at], postOf(row)))
  }),
  words: comparing<'words'>(async ({ stores }, rows) => {
    const found = (await stores.feed?.records.getWordsMany(rows.map(({ viewer }) => viewer))) ?? []
    return rows.map(({ words, version }, at) => versioned(found[at], { words, version }))
  }),
  count: comparing<'count'>((target, rows) =>
    compareTotals(
      target,
      rows.map((row) => ({ ...row, number: target.businesses.byName(row.business).number })),
    ),
  ),
  'user-count': comparing<'user-count'>((target, rows) =>
    compareTotals(
      target,
      rows.map((row) => ({ ...row, number: USERS })),
    ),
  ),
}

function marksOf({ stores }: Target, business: BusinessNumber) {
  return stores.tenants.get(business) ?? stores.marks
}

/** The answers of one call per business, in order of rows. */
async function byBusiness<R extends { business: string }, T>(
  { businesses }: Target,
  rows: readonly R[],
  ask: (business: BusinessNumber, rows: readonly R[]) => Promise<readonly T[]>,
): Promise<T[]> {
  const answers: T[] = []
  for (const [name, places] of Map.groupBy(rows.keys(), (at) => (rows[at] as R).business)) {
    const found = await ask(
      businesses.byName(name).number,
      places.map((at) => rows[at] as R),
    )
    places.forEach((at, index) => {
      answers[at] = found[index] as T
    })
  }
  return answers
}

/** An archived mark has lost its version. */
async function compareMarks(target: Target, business: BusinessNumber, rows: readonly Omit<RowOf<'mark'>, 'business'>[]): Promise<Found[]> {
  const found = await marksOf(target, business).records.getMarkMany(rows.map(({ viewer, id }) => ({ viewer, business, oid: id })))
  return rows.map(({ mark, markedAt, version }, at) => {
    const own = found[at]
    if (own === undefined) return mark === 'NONE' ? 'equal' : 'missing'
    if (own.markedAt !== markedAt) return own.markedAt > markedAt ? 'newer' : 'different'
    if (own.mark === mark) return 'equal'
    return own.version > version ? 'newer' : 'different'
  })
}

async function comparePlays({ stores, businesses }: Target, rows: readonly RowOf<'play'>[]): Promise<Found[]> {
  const keys = rows.map(({ viewer, business }) => ({ viewer, business: businesses.byName(business).number }))
  const seen = await stores.seen.hot.getSeenMany(keys)
  const filters = await stores.seen.records.getFilters(rows.map(({ viewer, playedAt }) => ({ viewer, month: monthOf(playedAt) })))
  return rows.map(({ id }, at) => {
    if (seen[at]?.staged.some(({ oid }) => oid === id) === true) return 'equal'
    const filter = filters[at]?.filter
    const [one, other] = hashSeen((keys[at] as { business: number }).business, [id])
    return filter !== undefined && openFilter(filter).has(one as number, other as number) ? 'newer' : 'missing'
  })
}

/** The import counts posts and reposts itself, so totals with the exported version may differ in these. */
async function compareTotals(
  { stores, config }: Target,
  rows: readonly { number: BusinessNumber; id: string; counts: Readonly<Record<string, number>>; version: number }[],
): Promise<Found[]> {
  const posts = postBusinessOf(config)?.number
  const found = (await stores.feed?.counters.records.getTotalsMany(rows.map(({ number, id }) => ({ business: number, oid: id })))) ?? []
  return rows.map(({ number, counts, version }, at) => {
    const own = found[at]
    const without = (all: Readonly<Record<string, number>>) =>
      counted(all, number === USERS ? 'post' : number === posts ? 'repost' : undefined)
    return versioned(own && { counts: without(own.counts), version: own.version }, { counts: without(counts), version })
  })
}

function counted(counts: Readonly<Record<string, number>>, leftOut: string | undefined): Record<string, number> {
  return Object.fromEntries(Object.entries(counts).filter(([name, count]) => name !== leftOut && count !== 0))
}

function versioned<T extends { version: number }>(own: T | undefined, row: T): Found {
  if (own === undefined) return 'missing'
  if (own.version > row.version) return 'newer'
  return own.version === row.version && isEqual(own, row) ? 'equal' : 'different'
}

function isEqual(a: object, b: object): boolean {
  return canonical(a) === canonical(b)
}

function canonical(value: unknown): string {
  return JSON.stringify(value, (_key, inner: unknown) =>
    inner !== null && typeof inner === 'object' && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).toSorted(([one], [other]) => (one < other ? -1 : 1)))
      : inner,
  )
}
