/** The part of `tidemark inspect viewer` for the feed, one sentence per fact. It reads past every cache, and shows no text of a post. */
import { FOLLOW_BUSINESS } from '../../config/feed.ts'
import { systemClock } from '../../core/clock.ts'
import type { ViewerId } from '../../core/domain.ts'
import { USERS } from '../../subgraphs/feed/model/post-events.ts'
import type { Post } from '../../subgraphs/feed/model/post.ts'
import { createdAtOf } from '../../subgraphs/feed/packed/post-id.ts'
import { findPostsOfViewer } from '../../subgraphs/feed/read/posts-of-viewer.ts'
import type { OpenStores } from '../stores/history.ts'

/** Empty if the feed has nothing of the viewer, or the configuration has no feed. Follows of others are as they are persisted. */
export async function feedLines({ feed, marks }: OpenStores, viewer: ViewerId, regions: number, linesMax: number): Promise<string[]> {
  if (feed === undefined) return []
  const { own, received } = await findPostsOfViewer(feed, viewer, regions, systemClock.now())
  const newest = own.toSorted((a, b) => createdAtOf(b.id) - createdAtOf(a.id))
  const lines = newest.slice(0, linesMax).map(lineOf)
  if (own.length > linesMax) lines.push(`… and ${own.length - linesMax} older posts`)
  if (received.length > 0)
    lines.push(
      `inbox: ${listed(
        received.map(({ id }) => `post ${id}`),
        linesMax,
      )}`,
    )

  const words = (await feed.hot.getWords(viewer)) ?? (await feed.records.getWordsMany([viewer]))[0]
  if (words !== undefined && words.words.length > 0) lines.push(`filter words: ${words.words.join(', ')}`)

  const { entries } = await marks.hot.listLikes(viewer, FOLLOW_BUSINESS, undefined, linesMax + 1)
  const stored = await marks.records.listMarks(viewer, FOLLOW_BUSINESS, ['LIKE'], undefined, linesMax + 1)
  const followed = new Set([...entries.map(({ id }) => id), ...stored.map(({ oid }) => oid)])
  const ids = [...followed]
  const held = ids.length === 0 ? [] : await marks.hot.getMarkMany(ids.map((oid) => ({ viewer, business: FOLLOW_BUSINESS, oid })))
  const follows = ids.filter((_, at) => held[at]?.undone !== true)
  if (follows.length > 0) lines.push(`follows: ${listed(follows, linesMax)}`)
  const followers = await marks.records.listLikers({ business: FOLLOW_BUSINESS, oid: viewer }, undefined, linesMax + 1)
  if (followers.length > 0)
    lines.push(
      `followed by: ${listed(
        followers.map(({ id }) => id),
        linesMax,
      )}`,
    )

  const subject = { business: USERS, oid: viewer }
  const counts = (await feed.counters.hot.getMany([subject]))[0] ?? (await feed.counters.records.getTotalsMany([subject]))[0]?.counts
  const counted = Object.entries(counts ?? {}).filter(([, count]) => count > 0)
  if (counted.length > 0) lines.push(`counters: ${counted.map(([name, count]) => `${name} ${count}`).join(', ')}`)
  return lines
}

function lineOf({ id, audience, media, source }: Post): string {
  const facts = [
    audience === undefined ? 'public' : `for ${audience.length} viewer${audience.length === 1 ? '' : 's'}`,
    ...(media.length > 0 ? [`${media.length} media`] : []),
    ...(source === undefined ? [] : [`shares post ${source}`]),
  ]
  return `${new Date(createdAtOf(id)).toISOString()}  published post ${id}: ${facts.join(', ')}`
}

function listed(ids: readonly string[], max: number): string {
  return ids.length <= max ? ids.join(', ') : `${ids.slice(0, max).join(', ')} and more`
}
