/**
 * Puts the rows of an export into the stores. Every put is guarded: of two states of a record the newer one stays, so rows may come again,
 * in any order. Distinct keys per call are the caller's part.
 *
 * Marks go to the record store, where counts change with them. The hot store loads a viewer's marks from there when it needs them, so only
 * viewers that it knows already get theirs. Posts are noted as changes of the lists that have them, so that pages show them at once.
 */
import type { BusinessConfig, Config } from '../../config/config.ts'
import { ringOf } from '../../config/feed-existence.ts'
import { FOLLOW_BUSINESS, postBusinessOf } from '../../config/feed.ts'
import { makeBusinesses, type Businesses } from '../../config/businesses.ts'
import type { Clock } from '../../core/clock.ts'
import type { BusinessNumber, ProgressRow } from '../../core/domain.ts'
import type { PostTally } from '../../subgraphs/feed/counters/post-tally.ts'
import { withTally } from '../../subgraphs/feed/counters/post-tally.ts'
import { USERS } from '../../subgraphs/feed/model/post-events.ts'
import { headKey, inboxKey } from '../../subgraphs/feed/model/cache-keys.ts'
import { recipientsOf, type Post } from '../../subgraphs/feed/model/post.ts'
import { slotOf } from '../../subgraphs/feed-existence/model/time-ring.ts'
import type { SettingsRow } from '../../subgraphs/history/stores/record-store.ts'
import type { MarkPutOptions, MarkStore } from '../../subgraphs/thumbup/stores/hot-store.ts'
import type { MarkRow } from '../../subgraphs/thumbup/stores/record-store.ts'
import type { FeedStores } from '../stores/feed.ts'
import type { OpenStores } from '../stores/history.ts'
import { putFilterRows } from './put-filters.ts'
import { putProgressRows, putSettingsRows, type HistoryTarget } from './put-history.ts'
import type { Kind, Row, RowOf } from './rows.ts'

export type Target = {
  stores: OpenStores
  config: Config
  businesses: Businesses<BusinessConfig>
  clock: Clock
  history: HistoryTarget
  /** Counts of posts and reposts, for a whole export of the feed: its counters may be newer than its posts. */
  tally: PostTally | undefined
}

export function targetOf(stores: OpenStores, config: Config, clock: Clock, tally: PostTally | undefined): Target {
  const { hot, records } = stores
  const history = { hot, records, timelineCap: config.history.timelineCap, regions: config.stores.regions, now: () => clock.now() }
  return { stores, config, businesses: makeBusinesses(config.businesses), clock, history, tally }
}

type Put = (target: Target, rows: readonly Row[]) => Promise<void>

/** `rows`: with distinct keys. */
export async function putRows(target: Target, kind: Kind, rows: readonly Row[]): Promise<void> {
  if (rows.length > 0) await PUTS[kind](target, rows)
}

const put =
  <K extends Kind>(act: (target: Target, rows: readonly RowOf<K>[]) => Promise<void>): Put =>
  (target, rows) =>
    act(target, rows)

const PUTS: Record<Kind, Put> = {
  settings: put<'settings'>((target, rows) =>
    putSettingsRows(
      target.history,
      rows.map((row) => settingsRowOf(target, row)),
    ),
  ),
  progress: put<'progress'>((target, rows) =>
    putProgressRows(
      target.history,
      rows.map((row) => progressRowOf(target, row)),
    ),
  ),
  owner: put<'owner'>(async (target, rows) => {
    for (const [name, some] of Map.groupBy(rows, ({ business }) => business)) {
      const { number } = target.businesses.byName(name)
      await marksOf(target, number).records.registerSubjects(some.map(({ id, owner }) => ({ business: number, oid: id, owner })))
    }
  }),
  mark: put<'mark'>(async (target, rows) => {
    for (const [name, some] of Map.groupBy(rows, ({ business }) => business)) {
      const { number } = target.businesses.byName(name)
      await putMarkRows(target, number, some)
    }
  }),
  follow: put<'follow'>((target, rows) => putMarkRows(target, FOLLOW_BUSINESS, rows)),
  filter: put<'filter'>(({ stores }, rows) => putFilterRows(stores.seen.records, rows)),
  play: put<'play'>(async ({ stores, businesses, config, clock }, rows) => {
    const plays = rows.map(({ viewer, business, id, playedAt }) => ({
      viewer,
      business: businesses.byName(business).number,
      oid: id,
      playedAt,
    }))
    const now = clock.now()
    await stores.seen.hot.stagePlays(plays, { now, slot: slotOf(now, ringOf(config).slots) })
  }),
  post: put<'post'>((target, rows) => putPosts(target, rows.map(postOf))),
  words: put<'words'>((target, rows) =>
    feedOf(target).records.putWords(rows.map(({ viewer, words, version }) => ({ viewer, words: { words, version } }))),
  ),
  count: put<'count'>((target, rows) =>
    putTotals(
      target,
      rows.map((row) => ({ ...row, business: target.businesses.byName(row.business).number })),
    ),
  ),
  'user-count': put<'user-count'>((target, rows) =>
    putTotals(
      target,
      rows.map((row) => ({ ...row, business: USERS })),
    ),
  ),
}

export function progressRowOf({ businesses }: Target, { viewer, business, id, ...record }: RowOf<'progress'>): ProgressRow {
  return { key: { viewer, business: businesses.byName(business).number, oid: id }, record }
}

export function settingsRowOf({ businesses }: Target, { viewer, paused, clearedAt, version }: RowOf<'settings'>): SettingsRow {
  const byNumber = Object.entries(clearedAt).map(([name, moment]) => [businesses.byName(name).number, moment])
  return { viewer, settings: { paused, clearedAt: Object.fromEntries(byNumber) as Record<number, number>, version } }
}

export function postOf({ source, audience, ...post }: RowOf<'post'>): Post {
  return { ...post, source, audience }
}

function marksOf({ stores }: Target, business: BusinessNumber) {
  return stores.tenants.get(business) ?? stores.marks
}

/** Throws the mistake that a check of the rows has excluded. */
async function putPosts(target: Target, posts: readonly Post[]): Promise<void> {
  const { hot, records } = feedOf(target)
  await records.putPosts(posts)
  const options = { now: target.clock.now(), keepMs: target.config.feed.keepMs }
  const authors = new Set(posts.filter(({ audience }) => audience === undefined).map(({ author }) => author))
  const readers = new Set(posts.filter(({ audience }) => audience !== undefined).flatMap(recipientsOf))
  await Promise.all([
    ...Array.from(authors, (author) => hot.noteChange(author, headKey(author), options)),
    ...Array.from(readers, (viewer) => hot.noteChange(viewer, inboxKey(viewer), options)),
  ])
}

function feedOf({ stores }: Target): FeedStores {
  if (stores.feed === undefined) throw new Error('the configuration has no feed')
  return stores.feed
}

async function putMarkRows(target: Target, business: BusinessNumber, rows: readonly Omit<RowOf<'mark'>, 'business'>[]): Promise<void> {
  const { hot, records } = marksOf(target, business)
  const marks = rows.map(({ viewer, id, mark, markedAt, version }): MarkRow => ({
    key: { viewer, business, oid: id },
    record: { mark, markedAt, version },
  }))
  const { stored } = await records.applyMarks(marks, [])
  const held = await hot.getMarkMany(marks.map(({ key }) => key))
  const known = marks.flatMap(({ key, record }, at) => (held[at]?.older === 'unknown' ? [] : [{ key, record: stored[at] ?? record }]))
  if (known.length > 0) await putHotMarks(hot, known, { now: target.clock.now(), cap: capOf(target, business) })
}

/**
 * Takes over rows of the record store for viewers that the hot store knows, because it answers for these viewers without the record store.
 * The base is null. The true base is this row, but the hot store does not store a mark that equals its base.
 */
async function putHotMarks(hot: MarkStore, rows: readonly MarkRow[], options: MarkPutOptions): Promise<void> {
  const writes = rows.map(({ key, record }) => ({ ...key, mark: record.mark, markedAt: record.markedAt, base: null }))
  const outcomes = await hot.putMarks(writes, options)
  const persisted = rows.flatMap(({ key, record }, at) => {
    const outcome = outcomes[at]
    return outcome?.status === 'written' ? [{ key, version: outcome.record.version, record }] : []
  })
  await hot.clearDirtyMarks(persisted, options.cap)
}

function capOf({ config, businesses }: Target, business: BusinessNumber): number {
  return businesses.byNumber(business)?.thumbup.likesCap ?? config.feed.followsMax
}

async function putTotals(
  target: Target,
  rows: readonly { business: BusinessNumber; id: string; counts: Readonly<Record<string, number>>; version: number }[],
): Promise<void> {
  const posts = postBusinessOf(target.config)?.number
  const { tally } = target
  const totals = rows.map(({ business, id, counts, version }) => {
    const row = { subject: { business, oid: id }, counts, version }
    return tally !== undefined && (business === USERS || business === posts) ? withTally(tally, row) : row
  })
  await feedOf(target).counters.records.putTotals(totals)
}

/** Totals of subjects without a row. Their version is their number, so a longer export wins over a part of it, and any later change wins. */
export async function putUncounted(target: Target): Promise<void> {
  const { tally } = target
  if (tally === undefined) return
  const rows = Array.from(tally.rest(), ({ subject, count }) => ({
    subject,
    counts: { [tally.counterOf(subject.business)]: count },
    version: count,
  }))
  for (let at = 0; at < rows.length; at += 1_000) await feedOf(target).counters.records.putTotals(rows.slice(at, at + 1_000))
}
