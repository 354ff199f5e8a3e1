/**
 * A home feed by fan-out on write: a publication pushes the id of the post into the list of every follower in Redis, and a page is one LRANGE,
 * then two pipelines of multi-gets by id. A page is as cheap as it can be. A publication costs as much as the author has followers.
 */
import { Redis } from 'ioredis'
import type { ViewerId } from '../../../core/domain.ts'
import type { Facts } from '../../../harness/samples/stored-facts.ts'
import type { Dataset } from '../dataset.ts'
import { PAGE_SIZE, type PeerPage } from './page.ts'
import { tallyOf } from './sql.ts'

/** Ids that a list keeps: as many as the product caches of an outbox. */
const LIST_CAP = 500
/** Commands of one pipeline. */
const COMMANDS_AT_ONCE = 2_000

type StoredPost = { author: ViewerId; text: string; media: readonly string[]; source: string | null }
/** Likes, reposts, comments, reads. */
type StoredCounts = [number, number, number, number]

/** With the popular author's followers, whose lists are full. */
export async function fillFanOut(url: string, { authors, posts, follows, likes, seen, counts, popular }: Dataset): Promise<void> {
  const redis = new Redis(url)
  try {
    const liked = tallyOf(likes)
    const followers = tallyOf(follows)
    const commands: [string, ...string[]][] = []
    for (const { id, author, text, media, source = null } of posts) {
      const stored: StoredPost = { author, text, media, source }
      commands.push(['set', `post:${id}`, JSON.stringify(stored)])
    }
    for (const { id, reposts, comments, reads } of counts) {
      const stored: StoredCounts = [liked.get(id) ?? 0, reposts, comments, reads]
      commands.push(['set', `counts:${id}`, JSON.stringify(stored)])
    }
    for (const author of authors) commands.push(['set', `followers:${author}`, String(followers.get(author) ?? 0)])
    const sets = (prefix: string, facts: readonly Facts[]): void => {
      for (const { viewer, oids } of facts) commands.push(['sadd', `${prefix}:${viewer}`, ...oids])
    }
    sets('likes', likes)
    sets('seen', seen)
    for (const { viewer, oids } of follows) {
      const followed = new Set(oids)
      const ids: string[] = []
      for (let at = posts.length - 1; at >= 0 && ids.length < LIST_CAP; at--) {
        const post = posts[at]
        if (post !== undefined && followed.has(post.author)) ids.push(post.id)
      }
      commands.push(['rpush', `home:${viewer}`, ...ids])
    }
    const full = posts.slice(-LIST_CAP).map(({ id }) => id)
    commands.push(['rpush', 'home:full', ...full])
    for (const follower of popular.followers) commands.push(['copy', 'home:full', `home:${follower}`])
    commands.push(['sadd', `followed-by:${popular.author}`, ...popular.followers])
    await sendAll(redis, commands)
  } finally {
    redis.disconnect()
  }
}

async function sendAll(redis: Redis, commands: readonly [string, ...string[]][]): Promise<void> {
  for (let at = 0; at < commands.length; at += COMMANDS_AT_ONCE) {
    const answers = await redis.pipeline(commands.slice(at, at + COMMANDS_AT_ONCE)).exec()
    for (const [error] of answers ?? []) if (error) throw error
  }
}

export function makeFanOutReader(url: string): (viewer: ViewerId) => Promise<PeerPage> {
  const redis = new Redis(url)
  return async (viewer) => {
    const ids = await redis.lrange(`home:${viewer}`, 0, PAGE_SIZE - 1)
    const [texts, numbers, liked, seen] = (await answersOf(
      redis
        .pipeline()
        .mget(ids.map((id) => `post:${id}`))
        .mget(ids.map((id) => `counts:${id}`))
        .smismember(`likes:${viewer}`, ...ids)
        .smismember(`seen:${viewer}`, ...ids),
    )) as [string[], (string | null)[], number[], number[]]
    const posts = texts.map((text) => JSON.parse(text) as StoredPost)
    const sources = posts.flatMap(({ source }) => source ?? [])
    const [followers, sourceTexts] = (await answersOf(
      redis
        .pipeline()
        .mget(posts.map(({ author }) => `followers:${author}`))
        // A multi-get needs a key.
        .mget(['', ...sources].map((id) => `post:${id}`)),
    )) as [string[], (string | null)[]]
    const sourceOf = new Map(sources.map((id, at) => [id, JSON.parse(sourceTexts[at + 1] as string) as StoredPost]))
    return {
      posts: posts.map(({ author, text, media, source }, at) => {
        const [likeCount, repostCount, commentCount, readCount] = JSON.parse(numbers[at] ?? '[0,0,0,0]') as StoredCounts
        const from = source === null ? undefined : sourceOf.get(source)
        return {
          id: ids[at] as string,
          text,
          media,
          author: { id: author, followerCount: Number(followers[at]) },
          source: source === null || from === undefined ? null : { id: source, text: from.text, author: { id: from.author } },
          ...{ likeCount, repostCount, commentCount, readCount },
          viewerMark: liked[at] === 1 ? ('LIKE' as const) : ('NONE' as const),
          viewerSeen: seen[at] === 1,
        }
      }),
      endCursor: ids.at(-1),
    }
  }
}

type Pipeline = { exec(): Promise<[error: Error | null, result: unknown][] | null> }

async function answersOf(pipeline: Pipeline): Promise<unknown[]> {
  const answers = (await pipeline.exec()) ?? []
  return answers.map(([error, answer]) => {
    if (error) throw error
    return answer
  })
}

/** Publishes for an author: stores the post and pushes its id to all followers. Returns the number of followers. */
export function makeFanOutPublisher(url: string): { publish(author: ViewerId, id: string, text: string): Promise<number>; close(): void } {
  const redis = new Redis(url)
  return {
    async publish(author, id, text) {
      const stored: StoredPost = { author, text, media: [], source: null }
      await redis.set(`post:${id}`, JSON.stringify(stored))
      const followers = await redis.smembers(`followed-by:${author}`)
      await sendAll(
        redis,
        followers.flatMap((follower): [string, ...string[]][] => [
          ['lpush', `home:${follower}`, id],
          ['ltrim', `home:${follower}`, '0', String(LIST_CAP - 1)],
        ]),
      )
      return followers.length
    },
    close: () => redis.disconnect(),
  }
}
