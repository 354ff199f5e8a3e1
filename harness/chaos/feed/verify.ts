/**
 * The reads after quiet, which become a part of the history: every list and every post through the API, the figures of users and posts, and
 * the rows of the record store.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { FOLLOW_BUSINESS, postBusinessOf } from '../../../config/feed.ts'
import type { OpenStores } from '../../../cli/stores/history.ts'
import type { ViewerId } from '../../../core/domain.ts'
import { chunked } from '../../../stores/chunks.ts'
import { unpackIds } from '../../../subgraphs/feed/packed/vector.ts'
import type { PostId } from '../../../subgraphs/feed/packed/post-id.ts'
import type { FeedRecords, ListPart } from '../../../subgraphs/feed/stores/record-store.ts'
import type { Deployment } from '../../deployment/deployment.ts'
import { makeDevice, type Device, type FeedWriterOptions } from './device.ts'
import { makeFacts, maySee, type PostFact } from './facts.ts'
import { followText, type EndState, type FeedHistory, type PostFigures, type UserFigures } from './history.ts'
import type { Known } from './known.ts'
import { makeReading } from './reading.ts'

const IDS_MAX = 200
const USERS_MAX = 10
/** The default of `thumbup.hotTtlMs`: the counts of others may be this old. */
const HOT_TTL_MS = 1_000

const FIGURES = 'query ($ids: [ID!]!) { posts(ids: $ids) { id repostCount commentCount readCount } }'

/** Reads everything through the gateways in turn, and looks into the record store. Notes both in the history. */
export async function readEnd(
  { gateways, config }: Pick<Deployment, 'gateways' | 'config'>,
  { feed, marks }: OpenStores,
  known: Known,
  options: FeedWriterOptions,
): Promise<void> {
  const business = postBusinessOf(config)?.number as number
  if (feed === undefined) throw new Error('the configuration has no feed')
  const { history } = known
  await sleep(HOT_TTL_MS)
  const posts = [...makeFacts(history).posts.values()]
  const ids = posts.map(({ id }) => id)
  const devices = gateways.map((_, at) => makeDevice(gateways, at, { ...options, lanes: gateways.length }))
  for (const { lane } of devices) lane.giveUpSoon()
  await Promise.all(devices.map((device, at) => readLists(device, at, devices.length, posts, known, options)))
  const device = devices[0] as Device
  const end: EndState = {
    users: await readUsers(device, history.users),
    posts: await readFigures(device, posts),
    storedPosts: new Map(),
    storedOutboxes: await storedLists(feed.records.listOutboxMany, history.users, posts.length),
    storedInboxes: await storedLists(feed.records.listInboxMany, history.users, posts.length),
    storedCounts: new Map(),
    storedPostCounts: new Map(),
    storedFollows: await storedFollows(marks, history),
  }
  for (const some of chunked(ids, IDS_MAX)) {
    const rows = await feed.records.getPostMany(some)
    rows.forEach((row, at) => row && end.storedPosts.set(some[at] as string, row))
    const totals = await feed.counters.records.getTotalsMany(some.map((oid) => ({ business, oid })))
    totals.forEach((total, at) => {
      const { repost = 0, comment = 0, read = 0 } = total?.counts ?? {}
      end.storedCounts.set(some[at] as string, { repost, comment, read })
    })
  }
  const ofUsers = await feed.counters.records.getTotalsMany(history.users.map((oid) => ({ business: FOLLOW_BUSINESS, oid })))
  ofUsers.forEach((total, at) => end.storedPostCounts.set(history.users[at] as string, total?.counts['post'] ?? 0))
  history.end = end
}

/** The part of one gateway: each user's home feed, posts and follows, and each post as its author, its audience and another user see it. */
async function readLists(
  device: Device,
  part: number,
  parts: number,
  posts: readonly PostFact[],
  known: Known,
  { users }: FeedWriterOptions,
): Promise<void> {
  const { readWhole, readFollows, lookUpIds } = makeReading(device, known, users)
  for (const [at, user] of users.entries()) {
    if (at % parts !== part) continue
    await readWhole(user, { kind: 'homeFeed', owner: user })
    await readWhole(users[(at + 1) % users.length] as string, { kind: 'posts', owner: user })
    await readFollows(user, true)
  }
  const own = posts.filter((_, at) => at % parts === part)
  for (const [viewer, asked] of Map.groupBy(own, ({ audience, author }) => audience?.[0] ?? author))
    for (const some of chunked(asked, IDS_MAX))
      await lookUpIds(
        viewer,
        some.map(({ id }) => id),
      )
  const restricted = own.filter(({ audience }) => audience !== undefined)
  for (const some of chunked(restricted, IDS_MAX)) {
    const outsider = users.find((user) => some.some((post) => !maySee(post, user))) as string
    await lookUpIds(
      outsider,
      some.map(({ id }) => id),
    )
  }
}

async function readUsers({ ask }: Device, users: readonly string[]): Promise<UserFigures[]> {
  const figures: UserFigures[] = []
  for (const some of chunked(users, USERS_MAX)) {
    const fields = some.map((_, at) => `u${at}: feedUser(id: $id${at}) { id postCount followerCount followingCount }`)
    const query = `query (${some.map((_, at) => `$id${at}: ID!`).join(', ')}) { ${fields.join(' ')} }`
    const variables = Object.fromEntries(some.map((id, at) => [`id${at}`, id]))
    const { data } = await ask<Record<string, Omit<UserFigures, 'user'>>>('figures', 'nobody', query, variables)
    some.forEach((user, at) => figures.push({ ...(data[`u${at}`] as Omit<UserFigures, 'user'>), user }))
  }
  return figures
}

async function readFigures({ ask }: Device, posts: readonly PostFact[]): Promise<PostFigures[]> {
  const figures: PostFigures[] = []
  for (const [author, own] of Map.groupBy(posts, (post) => post.author))
    for (const some of chunked(own, IDS_MAX)) {
      const { data } = await ask<{ posts: (PostFigures | null)[] }>('figures', author, FIGURES, { ids: some.map(({ id }) => id) })
      figures.push(...data.posts.filter((post) => post !== null))
    }
  return figures
}

/** `max`: of one list. */
async function storedLists(list: FeedRecords['listInboxMany'], users: readonly ViewerId[], max: number): Promise<Map<ViewerId, PostId[]>> {
  const lists = await list(users, undefined, 1 + max)
  return new Map(users.map((user, at) => [user, unpackIds((lists[at] as ListPart).ids)]))
}

async function storedFollows({ records }: OpenStores['marks'], { follows }: FeedHistory): Promise<Map<string, boolean>> {
  const pairs = [...new Map(follows.map((each) => [followText(each.viewer, each.user), each])).values()]
  const rows = await records.getMarkMany(pairs.map(({ viewer, user }) => ({ viewer, business: FOLLOW_BUSINESS, oid: user })))
  return new Map(pairs.map(({ viewer, user }, at) => [followText(viewer, user), rows[at]?.mark === 'LIKE']))
}
