/**
 * The data of a viewer in the stores, as objects with a `kind`, page by page. It reads past every cache and writes nothing. Each part reads
 * first what is not persisted yet, then the record store.
 *
 * It leaves out undone marks, the subjects of which the viewer is the owner, entries of journals, and rewards that are in the log.
 *
 *     viewer     the id, the region, the settings
 *     progress   one per entry of the history, the newest first
 *     mark       one per like and dislike; `follow` and `follower` are those of the feed
 *     owner      likes received, per business
 *     issued, staged, filter      feed existence; a filter is a set of hashes, as base64
 *     post, received, words, counters      the feed
 *     reward     waits for the log
 */
import { makeBusinesses } from '../../config/businesses.ts'
import type { Config } from '../../config/config.ts'
import { FOLLOW_BUSINESS } from '../../config/feed.ts'
import { systemClock } from '../../core/clock.ts'
import type { BusinessNumber, DirtyWalk, MarkKey, ViewerId } from '../../core/domain.ts'
import { complete } from '../../core/outage/degraded.ts'
import { regionOf } from '../../core/regions.ts'
import { monthText } from '../../subgraphs/feed-existence/model/time-ring.ts'
import { USERS } from '../../subgraphs/feed/model/post-events.ts'
import { createdAtOf } from '../../subgraphs/feed/packed/post-id.ts'
import { findPostsOfViewer } from '../../subgraphs/feed/read/posts-of-viewer.ts'
import { readTimeline } from '../../subgraphs/history/read/timeline.ts'
import type { MarkStores } from '../../subgraphs/thumbup/stores/guarded.ts'
import type { OpenStores } from '../stores/history.ts'

export type ViewerLine = { kind: string } & Record<string, unknown>

const PAGE = 500
/** Dirty marks have the time of their process, whose clock may be ahead. */
const AHEAD_MS = 3_600_000

export async function* viewerLines(stores: OpenStores, viewer: ViewerId, config: Config): AsyncGenerator<ViewerLine> {
  const businesses = makeBusinesses(config.businesses)
  const { regions } = config.stores
  const region = regionOf(viewer, regions)
  const nameOf = (number: BusinessNumber): string => businesses.byNumber(number)?.name ?? String(number)
  const { paused, clearedAt } = await stores.hot.getSettings(viewer)
  const cleared = Object.fromEntries(Object.entries(clearedAt).map(([business, upTo]) => [nameOf(Number(business)), upTo]))
  yield { kind: 'viewer', viewer, region, paused, cleared, exportedAt: new Date(systemClock.now()).toISOString() }
  yield* history(stores, viewer, businesses.numbers, nameOf)
  for (const number of businesses.numbers) {
    const own = stores.tenants.get(number) ?? stores.marks
    for (const { oid, mark, markedAt } of await marksOf(own, viewer, number, region))
      yield { kind: 'mark', viewer, business: nameOf(number), id: oid, mark, markedAt }
    const [sum] = await own.records.getOwnerSums([{ business: number, owner: viewer }])
    if (sum !== undefined && sum.version > 0) yield { kind: 'owner', viewer, business: nameOf(number), likesReceived: sum.likes }
  }
  yield* seen(stores, viewer, businesses.numbers, nameOf)
  yield* feed(stores, viewer, regions)
  const until = systemClock.now() + AHEAD_MS
  for (const store of [stores.hot, stores.seen.hot])
    for (const { viewer: of, business, ...reward } of await store.listPendingRewards([region], until, Number.MAX_SAFE_INTEGER))
      if (of === viewer) yield { ...reward, kind: 'reward', reward: reward.kind, viewer, business: nameOf(business) }
}

type NameOf = (number: BusinessNumber) => string

async function* history(
  { hot, records }: OpenStores,
  viewer: ViewerId,
  numbers: readonly BusinessNumber[],
  nameOf: NameOf,
): AsyncGenerator<ViewerLine> {
  for (let before: Parameters<typeof readTimeline>[4]; ;) {
    const page = await complete((without) => readTimeline(hot, records, viewer, numbers, before, PAGE, without))
    for (const { business, oid, record } of page.entries) {
      const { position, duration, device, viewedAt, finished } = record
      yield { kind: 'progress', viewer, business: nameOf(business), id: oid, position, duration, device, viewedAt, finished }
    }
    const last = page.entries.at(-1)
    if (last === undefined || !page.hasNextPage) return
    before = { viewedAt: last.record.viewedAt, business: last.business, oid: last.oid }
  }
}

/** Marks that are not persisted yet win over the rows. */
async function marksOf({ hot, records }: Pick<MarkStores, 'hot' | 'records'>, viewer: ViewerId, business: BusinessNumber, region: number) {
  const waiting: MarkKey[] = []
  const walk: DirtyWalk = {}
  for (let keys: MarkKey[] | undefined; keys === undefined || keys.length > 0;) {
    keys = await hot.listDirtyMarks([region], systemClock.now() + AHEAD_MS, PAGE, walk)
    waiting.push(...keys.filter((key) => key.viewer === viewer && key.business === business))
  }
  const found = new Map<string, { oid: string; mark: string; markedAt: number }>()
  for (let before: { markedAt: number; id: string } | undefined; ;) {
    const rows = await records.listMarks(viewer, business, ['LIKE', 'DISLIKE'], before, PAGE)
    for (const { oid, mark, markedAt } of rows) found.set(oid, { oid, mark, markedAt })
    const last = rows.at(-1)
    if (last === undefined) break
    before = { markedAt: last.markedAt, id: last.oid }
  }
  for (const { key, record } of waiting.length === 0 ? [] : await hot.readDirtyMarks(waiting)) {
    if (record?.mark === 'NONE') found.delete(key.oid)
    else if (record !== undefined) found.set(key.oid, { oid: key.oid, mark: record.mark, markedAt: record.markedAt })
  }
  return [...found.values()].toSorted((a, b) => b.markedAt - a.markedAt)
}

async function* seen(
  { seen: { hot, records } }: OpenStores,
  viewer: ViewerId,
  numbers: readonly BusinessNumber[],
  nameOf: NameOf,
): AsyncGenerator<ViewerLine> {
  const all = await hot.getSeenMany(numbers.map((business) => ({ viewer, business })))
  for (const [at, { issued, staged }] of all.entries()) {
    const business = nameOf(numbers[at] as number)
    for (const { oid, issuedAt } of issued) yield { kind: 'issued', viewer, business, id: oid, issuedAt }
    for (const { oid, playedAt } of staged) yield { kind: 'staged', viewer, business, id: oid, playedAt }
  }
  const [filters = []] = await records.listFilters([viewer])
  for (const { month, filter } of filters)
    yield { kind: 'filter', viewer, month: month === 0 ? 'migration' : monthText(month), filter: filter.toString('base64') }
}

async function* feed({ feed: stores, marks }: OpenStores, viewer: ViewerId, regions: number): AsyncGenerator<ViewerLine> {
  if (stores === undefined) return
  const { own, received } = await findPostsOfViewer(stores, viewer, regions, systemClock.now())
  for (const { id, author, text, media, source, audience, clientKey } of own)
    yield { kind: 'post', author, id, text, media, source, audience, clientKey, publishedAt: createdAtOf(id) }
  for (const { id, post } of received) yield { kind: 'received', viewer, id, author: post?.author }
  const words = (await stores.hot.getWords(viewer)) ?? (await stores.records.getWordsMany([viewer]))[0]
  if (words !== undefined && words.words.length > 0) yield { kind: 'words', viewer, words: words.words }
  for (const { oid, markedAt } of await marksOf(marks, viewer, FOLLOW_BUSINESS, regionOf(viewer, regions)))
    yield { kind: 'follow', viewer, id: oid, markedAt }
  for (let before: { markedAt: number; id: string } | undefined; ;) {
    const followers = await marks.records.listLikers({ business: FOLLOW_BUSINESS, oid: viewer }, before, PAGE)
    for (const { id, markedAt } of followers) yield { kind: 'follower', viewer, id, markedAt }
    before = followers.at(-1)
    if (before === undefined) break
  }
  const subject = { business: USERS, oid: viewer }
  const counts = (await stores.counters.hot.getMany([subject]))[0] ?? (await stores.counters.records.getTotalsMany([subject]))[0]?.counts
  if (counts !== undefined) yield { kind: 'counters', viewer, counts }
}
