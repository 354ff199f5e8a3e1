/** The stored data of one viewer, for `tidemark inspect viewer` and the console. It reads past every cache and writes nothing. */
import { makeBusinesses } from '../config/businesses.ts'
import type { Config } from '../config/config.ts'
import type { BusinessNumber, ViewerId } from '../core/domain.ts'
import { complete } from '../core/outage/degraded.ts'
import { regionOf } from '../core/regions.ts'
import type { ViewerData } from '../pages/console/answer.ts'
import { readTimeline } from '../subgraphs/history/read/timeline.ts'
import { readLikes } from '../subgraphs/thumbup/read/likes.ts'
import { feedLines } from './feed-data/lines.ts'
import { seenLines } from './inspect-seen.ts'
import type { OpenStores } from './stores/history.ts'

type MarkedSubject = ViewerData['likes'][number]

const LINES_MAX = 50
/** A fill would write into the hot store. */
const NO_FILLS = { bring: () => Promise.resolve() }

export async function readViewer(stores: OpenStores, viewer: ViewerId, config: Config): Promise<ViewerData> {
  const businesses = makeBusinesses(config.businesses)
  const { regions } = config.stores
  const nameOf = (number: BusinessNumber): string => businesses.byNumber(number)?.name ?? String(number)
  // One after the other: if a store is down, one error says so.
  const settings = await stores.hot.getSettings(viewer)
  const history = await readHistory(stores, viewer, businesses.numbers, nameOf)
  const [likes, dislikes] = await readMarks(stores, viewer, businesses.numbers, nameOf)
  return {
    viewer,
    region: regionOf(viewer, regions),
    regions,
    paused: settings.paused,
    cleared: Object.entries(settings.clearedAt).map(([business, upTo]) => ({ business: nameOf(Number(business)), upTo })),
    ...history,
    likes,
    dislikes,
    seen: await seenLines(stores.seen, viewer, businesses),
    feed: await feedLines(stores, viewer, regions, LINES_MAX),
  }
}

async function readHistory(
  stores: OpenStores,
  viewer: ViewerId,
  numbers: readonly BusinessNumber[],
  nameOf: (number: BusinessNumber) => string,
): Promise<Pick<ViewerData, 'entries' | 'hasMoreEntries'>> {
  const { hot, records } = stores
  const page = await complete((without) => readTimeline(hot, records, viewer, numbers, undefined, LINES_MAX, without)).catch(
    async (error: unknown) => {
      // Their errors name the server and the reason.
      await Promise.all([hot.check(), records.check()])
      throw error
    },
  )
  const rows = await records.getProgressMany(page.entries.map(({ business, oid }) => ({ viewer, business, oid })))
  const entries = page.entries.map(({ business, oid, record }, index) => {
    const { position, duration, device, viewedAt, finished, version } = record
    return {
      business: nameOf(business),
      id: oid,
      position,
      duration,
      device,
      viewedAt,
      finished,
      persisted: rows[index]?.version === version,
    }
  })
  return { entries, hasMoreEntries: page.hasNextPage }
}

async function readMarks(
  { marks, tenants }: OpenStores,
  viewer: ViewerId,
  numbers: readonly BusinessNumber[],
  nameOf: (number: BusinessNumber) => string,
): Promise<[likes: MarkedSubject[], dislikes: MarkedSubject[]]> {
  const likes: MarkedSubject[] = []
  const dislikes: MarkedSubject[] = []
  for (const number of numbers) {
    const { hot, records } = tenants.get(number) ?? marks
    const business = nameOf(number)
    const page = await complete((without) => readLikes({ hot, records, fills: NO_FILLS }, viewer, number, undefined, LINES_MAX, without))
    likes.push(...(page?.entries ?? []).map(({ id, markedAt }) => ({ business, id, markedAt })))
    const rows = await records.listMarks(viewer, number, ['DISLIKE'], undefined, LINES_MAX)
    dislikes.push(...rows.map(({ oid, markedAt }) => ({ business, id: oid, markedAt })))
  }
  return [likes, dislikes]
}
