import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { seededRandom, randomBelow } from '../../../../../core/random.ts'
import { makeTcpProxy, type TcpProxy } from '../../../../../harness/faults/tcp-proxy.ts'
import { migrateMysql } from '../../../../../stores/mysql/schema-version.ts'
import { recipientsOf, type Post } from '../../../../../subgraphs/feed/model/post.ts'
import { hasId } from '../../../../../subgraphs/feed/packed/vector.ts'
import { openMysqlFeedRecords } from '../../../../../subgraphs/feed/stores/mysql/record-store.ts'
import type { FeedRecords } from '../../../../../subgraphs/feed/stores/record-store.ts'
import { REGIONS, deletedPost, somePost } from '../../../../contracts/feed/record-posts.ts'
import { numbered } from '../../../../contracts/reports.ts'
import { makeDatabase, mariadb, type TestDatabase } from '../../../../stores/mysql/databases.ts'

const ROUNDS = 60
const POSTS = 200
const PEOPLE = numbered(30)

describe.skipIf(mariadb === undefined)('a call of the record store of the feed', () => {
  let database: TestDatabase
  let proxy: TcpProxy
  let store: FeedRecords
  let direct: FeedRecords
  beforeAll(async () => {
    database = await makeDatabase()
    await migrateMysql(database.database)
    const url = new URL(database.url)
    proxy = await makeTcpProxy(Number(url.port))
    url.port = String(proxy.port)
    store = await openMysqlFeedRecords({ url: url.href, regions: REGIONS, connectTimeoutMs: 500 })
    direct = await openMysqlFeedRecords({ url: database.url, regions: REGIONS })
  })
  afterAll(async () => {
    await store.close()
    await direct.close()
    await proxy.close()
    await database.drop()
  })

  /** How many of these posts are stored at their versions. Inboxes must have what the stored posts say. */
  async function stored(posts: readonly Post[]): Promise<number> {
    const found = await direct.getPostMany(posts.map(({ id }) => id))
    const inboxes = new Map((await direct.listInboxMany(PEOPLE, undefined, 100_000)).map(({ ids }, at) => [PEOPLE[at] as string, ids]))
    for (const post of found) {
      if (post?.audience === undefined) continue
      for (const viewer of recipientsOf(post)) expect(hasId(inboxes.get(viewer) as Buffer, post.id)).toBe(!post.deleted)
    }
    return found.filter((post, at) => post?.version === posts[at]?.version).length
  }

  it(
    'is executed completely or not at all if its connection breaks, and completely when it is repeated',
    { timeout: 180_000 },
    async () => {
      const random = seededRandom(11)
      const live: Post[] = []
      const outcomes = { done: 0, all: 0, none: 0 }
      for (let round = 0; round < ROUNDS; round++) {
        const fresh = Array.from({ length: POSTS }, () =>
          somePost(random() < 0.4 ? { audience: PEOPLE.filter(() => random() < 0.3).concat(PEOPLE[0] as string) } : {}),
        )
        const gone = live.splice(0, POSTS / 4).map((post) => deletedPost(post))
        const call = [...fresh, ...gone]
        live.push(...fresh)
        // On a slow machine a call takes more than 40 ms, and some calls must end before the cut.
        const timer = sleep(randomBelow(random, round % 4 === 0 ? 400 : 40)).then(() => proxy.cut('broken'))
        const isDone = await store.putPosts(call).then(
          () => true,
          () => false,
        )
        await timer
        proxy.mend()
        // The server may still roll back. A commit whose answer was lost is complete by now.
        await sleep(100)
        const count = await stored(call)
        if (isDone) expect(count).toBe(call.length)
        else expect([0, call.length]).toContain(count)
        outcomes[isDone ? 'done' : count === 0 ? 'none' : 'all']++
        await store.putPosts(call)
        expect(await stored(call)).toBe(call.length)
      }
      expect(outcomes.none).toBeGreaterThan(5)
      expect(outcomes.done).toBeGreaterThan(0)
    },
  )
})
