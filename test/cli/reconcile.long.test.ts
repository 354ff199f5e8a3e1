/** `tidemark reconcile` with damaged data: on embedded stores, one with a broken block, one that does not match its configuration. */
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { exitStatus } from '../../cli/program/reconcile-status.ts'
import { FOLLOW_BUSINESS } from '../../config/feed.ts'
import { regionOf } from '../../core/regions.ts'
import { openEnvironment } from '../../stores/lmdb/environment.ts'
import { readSettings } from '../../cli/process/settings.ts'
import { persistCounts } from '../../subgraphs/feed/counters/persist.ts'
import { counterSchemasOf } from '../../subgraphs/feed/counters/schemas.ts'
import { openLmdbCounterRecords } from '../../subgraphs/feed/stores/lmdb/counters/counter-records.ts'
import { openLmdbCounterStore } from '../../subgraphs/feed/stores/lmdb/counters/counter-store.ts'
import { postIdOf, postTick } from '../../subgraphs/feed/packed/post-id.ts'
import { openLmdbFeedRecords } from '../../subgraphs/feed/stores/lmdb/record-store.ts'
import { blockKey, makeMarkShelf, plainMarkKey } from '../../subgraphs/thumbup/stores/lmdb/records/keys.ts'
import { openLmdbMarkRecords } from '../../subgraphs/thumbup/stores/lmdb/record-store.ts'
import { openMarkTables } from '../../subgraphs/thumbup/stores/lmdb/records/tables.ts'
import { decodeCounts, encodeCounts } from '../../subgraphs/thumbup/stores/lmdb/records/values.ts'
import { somePost } from '../contracts/feed/record-posts.ts'

const COMMAND = join(import.meta.dirname, '..', '..', 'cli', 'tidemark.ts')
const folder = mkdtempSync(join(tmpdir(), 'tidemark-reconcile-'))
const MARKED_AT = 1_700_000_000_000
const [VIDEO, ARTICLE, COMIC] = [1, 2, 3]

function run(...args: string[]): Promise<{ status: number; out: string; error: string }> {
  // Of a flag that occurs twice, the last one wins.
  const flags = ['--config', join(folder, 'tidemark.yaml'), '--data', join(folder, 'data'), ...args]
  return new Promise((resolve) => {
    execFile(process.execPath, [COMMAND, 'reconcile', ...flags], { cwd: folder }, (failure, out, error) =>
      resolve({ status: failure === null ? 0 : Number(failure.code), out, error }),
    )
  })
}

/** Four subjects, five likes each, in the data folder `name`. */
async function fill(name: string, regions: number, businesses: readonly number[]): Promise<void> {
  const environment = openEnvironment(join(folder, name), { regions, sizeMaxGb: 1 })
  const records = openLmdbMarkRecords(environment)
  for (const business of businesses) {
    const rows = Array.from({ length: 20 }, (_, at) => ({
      key: { viewer: String(at + 1), business, oid: String(1 + (at % 4)) },
      record: { mark: 'LIKE' as const, markedAt: MARKED_AT + at, version: (MARKED_AT + at) * 1_024 },
    }))
    await records.applyMarks(rows, [])
  }
  await environment.close()
}

async function change(task: (tables: ReturnType<typeof openMarkTables>) => void, data = join(folder, 'data')): Promise<void> {
  const environment = openEnvironment(data, { regions: 4, sizeMaxGb: 1 })
  const tables = openMarkTables(environment)
  await environment.write(() => task(tables))
  await environment.close()
}

beforeAll(async () => {
  const businesses = [
    { number: VIDEO, name: 'video', entity: 'Video' },
    { number: ARTICLE, name: 'article', entity: 'Article', thumbup: { stores: { data: join(folder, 'article') } } },
    { number: COMIC, name: 'comic', entity: 'Comic' },
  ]
  writeFileSync(join(folder, 'tidemark.yaml'), JSON.stringify({ stores: { regions: 4, sizeMaxGb: 1 }, businesses }))
  await fill('data', 4, [VIDEO, COMIC])
  // As if it had been created with another configuration.
  await fill('article', 8, [ARTICLE])
  await change(({ likers }) => {
    const noBlock = Buffer.from([0xb1, 1, 2, 3, 4, 1, 9, 9, 9, 9])
    void likers.put(blockKey(makeMarkShelf(VIDEO, '2'), { markedAt: 1_600_000_000_000, id: '99' }), noBlock)
  })
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

describe('data that cannot be counted', () => {
  test('is named, all other data is counted, and the status is neither "differs" nor "does not answer"', async () => {
    const { status, out } = await run()
    expect(out).toMatch(/^UNREAD video\/2: DATA_DAMAGED: /m)
    expect(out).toContain('video: 3 subjects and 0 owners recounted, 0 differ, 1 cannot be counted')
    expect(out).toMatch(/^article: not recounted completely: DATA_INCOMPATIBLE: .*region/m)
    expect(out).toContain('comic: 4 subjects and 0 owners recounted, 0 differ\n')
    expect(status).toBe(3)
    expect((await run('--business', 'comic')).status).toBe(0)
  })

  test('has the status of a mistake in the command, and a differing count takes precedence', async () => {
    expect(await run('--business', 'nobody')).toMatchObject({ status: 3, error: expect.stringMatching(/^BUSINESS_UNKNOWN/) })
    await change(({ counts }) => {
      const key = plainMarkKey(COMIC, '3')
      const held = decodeCounts(counts.getBinary(key) as Buffer)
      void counts.put(key, encodeCounts({ ...held, counts: { ...held.counts, likes: held.counts.likes + 1 } }))
    })
    const { status, out } = await run()
    expect(out).toContain('DRIFT  comic/3: 6 likes and 0 dislikes are counted, 5 and 0 are stored')
    expect(status).toBe(1)
  })
})

test('follows are recounted if there is a feed', async () => {
  const config = join(folder, 'with-feed.yaml')
  const data = join(folder, 'with-feed')
  const businesses = [
    { number: VIDEO, name: 'video', entity: 'Video' },
    { number: COMIC, name: 'post', entity: 'Post' },
  ]
  writeFileSync(config, JSON.stringify({ stores: { regions: 4, sizeMaxGb: 1, data }, businesses }))
  await fill('with-feed', 4, [FOLLOW_BUSINESS])
  const counted = await run('--config', config, '--data', data)
  expect(counted).toMatchObject({ status: 0, out: expect.stringContaining('follow: 4 subjects and 0 owners recounted, 0 differ\n') })
  await change(({ counts }) => {
    const key = plainMarkKey(FOLLOW_BUSINESS, '3')
    const held = decodeCounts(counts.getBinary(key) as Buffer)
    void counts.put(key, encodeCounts({ ...held, counts: { ...held.counts, likes: held.counts.likes + 1 } }))
  }, data)
  const { status, out } = await run('--config', config, '--data', data)
  expect(out).toContain('DRIFT  follow/3: 6 likes and 0 dislikes are counted, 5 and 0 are stored')
  expect(status).toBe(1)
})

test('the most severe result determines the status', () => {
  expect(exitStatus({ drifting: 0, unchecked: 0, unreadable: 0 })).toBe(0)
  expect(exitStatus({ drifting: 0, unchecked: 1, unreadable: 0 })).toBe(2)
  expect(exitStatus({ drifting: 0, unchecked: 1, unreadable: 1 })).toBe(3)
  expect(exitStatus({ drifting: 1, unchecked: 1, unreadable: 1 })).toBe(1)
})

test('posts whose counts were lost are named with the counts, and the status says that counts differ', async () => {
  const config = join(folder, 'with-posts.yaml')
  const data = join(folder, 'with-posts')
  const businesses = [{ number: VIDEO, name: 'post', entity: 'Post' }]
  writeFileSync(config, JSON.stringify({ stores: { regions: 4, sizeMaxGb: 1, data }, businesses, feed: { countsWindowMs: 0 } }))
  const environment = openEnvironment(data, { regions: 4, sizeMaxGb: 1 })
  const author = '7'
  const [source, repost] = [2, 4].map((tick) => postIdOf(postTick(tick, false), regionOf(author, 4))) as [string, string]
  await openLmdbFeedRecords(environment).putPosts([somePost({ id: source, author }), somePost({ id: repost, author, source })])
  await environment.close()
  const { status, out } = await run('--config', config, '--data', data)
  expect(out).toContain('DRIFT  user 7: 0 posts are counted, 2 are stored\n')
  expect(out).toContain(`DRIFT  post/${source}: 0 reposts are counted, 1 are stored\n`)
  expect(out).toContain('posts of post: counts of 2 users and posts recounted, 2 differ\n')
  expect(status).toBe(1)
  expect((await run('--config', config, '--data', data, '--repair')).out).toContain('posts of post: 2 counts repaired\n')
  const repaired = openEnvironment(data, { regions: 4, sizeMaxGb: 1 })
  const schemas = counterSchemasOf(readSettings({ config, data }))
  const counters = openLmdbCounterStore(repaired, schemas)
  const subjects = [
    { business: FOLLOW_BUSINESS, oid: author },
    { business: VIDEO, oid: source },
  ]
  expect(await counters.getMany(subjects)).toMatchObject([{ post: 2 }, { repost: 1 }])
  await persistCounts({ hot: counters, records: openLmdbCounterRecords(repaired) }, schemas, subjects)
  await repaired.close()
  expect(await run('--config', config, '--data', data)).toMatchObject({ status: 0, out: expect.stringContaining('recounted, 0 differ\n') })
})
