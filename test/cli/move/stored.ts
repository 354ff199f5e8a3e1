/** A data folder with records of every kind, written through the stores as the service and its jobs do. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openStores, type OpenStores } from '../../../cli/stores/history.ts'
import { readSettings } from '../../../cli/process/settings.ts'
import { FOLLOW_BUSINESS } from '../../../config/feed.ts'
import { systemClock } from '../../../core/clock.ts'
import { regionOf } from '../../../core/regions.ts'
import { addToFilter } from '../../../subgraphs/feed-existence/filter/filter.ts'
import { hashSeen } from '../../../subgraphs/feed-existence/filter/hash.ts'
import { USERS } from '../../../subgraphs/feed/model/post-events.ts'
import { POST_EPOCH_MS, postIdOf } from '../../../subgraphs/feed/packed/post-id.ts'
import { putProgressRows } from '../../../cli/move/put-history.ts'
import { report } from '../../contracts/reports.ts'

export const REGIONS = 4
export const NOW = 1_790_000_000_000
export const VIEWERS = ['1', '2', '3', 'viewer-ü']
const silent = { debug() {}, info() {}, warn() {}, error() {} }

export type TestFolder = {
  folder: string
  flags(data: string): { config: string; data: string }
  path(name: string): string
  remove(): void
}

export function makeTestFolder(): TestFolder {
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-move-'))
  const config = join(folder, 'tidemark.yaml')
  writeFileSync(config, JSON.stringify({ stores: { regions: REGIONS }, existence: { shards: REGIONS } }))
  const path = (name: string): string => join(folder, name)
  return { folder, path, flags: (data) => ({ config, data: path(data) }), remove: () => rmSync(folder, { recursive: true, force: true }) }
}

export async function withStores<T>(flags: { config: string; data: string }, act: (stores: OpenStores) => Promise<T>): Promise<T> {
  const stores = await openStores(readSettings(flags, {}), systemClock, silent)
  try {
    return await act(stores)
  } finally {
    await stores.close()
  }
}

/** 40 reports of each viewer, one deleted, a clearing and a pause, marks, an owner, follows, a filter, posts, words and counters. */
export async function storeAll({ hot, records, marks, seen, feed }: OpenStores): Promise<void> {
  if (feed === undefined) throw new Error('the configuration has no feed')
  const target = { hot, records, timelineCap: 1_000, regions: REGIONS, now: () => NOW }
  const version = (at: number): number => NOW * 1_024 + at
  const rows = VIEWERS.flatMap((viewer) =>
    Array.from({ length: 40 }, (_, at) => ({
      key: { viewer, business: 1 + (at % 3), oid: String(at) },
      record: report(NOW + at, { version: version(at), position: at * 1_000, device: at % 2 === 0 ? 'tv' : '', finished: at % 5 === 0 }),
    })),
  )
  await putProgressRows(target, rows)
  const tombstone = {
    ...report(NOW + 500),
    since: NOW + 500,
    rank: 0,
    version: version(900),
    position: 0,
    duration: 0,
    device: '',
    deleted: true,
  }
  await putProgressRows(target, [{ key: { viewer: '1', business: 1, oid: '3' }, record: tombstone }])
  const paused = { paused: true, clearedAt: {}, version: version(901) }
  await records.putSettings([
    { viewer: '2', settings: paused },
    { viewer: '3', settings: { paused: false, clearedAt: { 1: NOW + 20 }, version: version(902) } },
  ])

  const markRows = VIEWERS.flatMap((viewer, index) =>
    Array.from({ length: 10 }, (_, at) => ({
      key: { viewer, business: 1, oid: String(at) },
      record: { mark: (at + index) % 3 === 0 ? ('DISLIKE' as const) : ('LIKE' as const), markedAt: NOW + at, version: version(at) },
    })),
  )
  await marks.records.registerSubjects([{ business: 1, oid: '1', owner: 'owner' }])
  await marks.records.applyMarks(markRows, [])
  const follows = [
    ['1', '2'],
    ['2', '3'],
  ].map(([viewer, oid]) => ({
    key: { viewer: viewer as string, business: FOLLOW_BUSINESS, oid: oid as string },
    record: { mark: 'LIKE' as const, markedAt: NOW, version: version(0) },
  }))
  await marks.records.applyMarks(follows, [])
  await seen.records.putFilters([filterOf('1', ['7', '8'])])
  await seen.hot.stagePlays([{ viewer: '2', business: 1, oid: '9', playedAt: NOW }], { now: NOW, slot: 0 })

  const tick = (NOW - POST_EPOCH_MS) * 256
  const posts = VIEWERS.map((author, at) => ({
    ...{ id: postIdOf(tick + at * 2, regionOf(author, REGIONS)), author, text: `post "${at}" 🙂`, media: ['https://img.example/ü.png'] },
    ...{ source: undefined, audience: undefined, clientKey: `key-${at}`, version: tick + at, deleted: false },
  }))
  await feed.records.putPosts(posts)
  await feed.records.putWords([{ viewer: '1', words: { words: ['Ünsinn'], version: tick } }])
  await feed.counters.records.putTotals(
    VIEWERS.map((oid) => ({ subject: { business: USERS, oid }, counts: { post: 1 }, version: version(0) })),
  )
  await feed.counters.records.putTotals([
    { subject: { business: 4, oid: posts[0]?.id as string }, counts: { comment: 3 }, version: version(1) },
  ])
}

export function filterOf(viewer: string, oids: readonly string[]) {
  const filter = addToFilter(undefined, hashSeen(1, oids), { rate: 0.01 })
  return { viewer, month: 680, filter, expected: 0, expiresAt: NOW * 2 }
}
