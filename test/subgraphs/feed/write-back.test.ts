import { afterEach, beforeEach, expect, it } from 'vitest'
import { makeConfig } from '../../../config/config.ts'
import type { FlushedKey } from '../../../core/domain.ts'
import { TidemarkError } from '../../../core/errors.ts'
import { regionOf } from '../../../core/regions.ts'
import { makeFeedStoreModel } from '../../../harness/models/feed/hot-store-model.ts'
import { makeFeedRecordsState, openModelFeedRecords } from '../../../harness/models/feed/record-store-model.ts'
import { makeSteppedClock, type SteppedClock } from '../../../harness/stepped-clock.ts'
import { flushedCountsOf } from '../../../subgraphs/feed/model/counts.ts'
import { flushedKeyOf } from '../../../subgraphs/feed/model/dirty-keys.ts'
import { guardFeedStores, type GuardedFeedStores } from '../../../subgraphs/feed/stores/guarded.ts'
import { makeFeedWriteBack } from '../../../subgraphs/feed/write/write-back.ts'
import type { FlushMessage, Log } from '../../../writeback/log.ts'
import type { WriteBack } from '../../../writeback/write-back.ts'

const REGIONS = 100
const POST: FlushedKey = flushedKeyOf({ viewer: '7', post: '71' })
const WORDS: FlushedKey = flushedKeyOf({ viewer: '7', post: undefined })
const COUNTS: FlushedKey = flushedCountsOf({ business: 4, oid: '7' })

let clock: SteppedClock
let guarded: GuardedFeedStores
let writeBack: WriteBack
let flushed: FlushMessage[]
let isLogDown: boolean
let persisted: { posts: FlushedKey[]; counts: string[] }
let errors: unknown[]
beforeEach(() => {
  clock = makeSteppedClock()
  flushed = []
  isLogDown = false
  persisted = { posts: [], counts: [] }
  errors = []
  const log: Log = {
    appendFlushes: async (messages) => {
      if (isLogDown) throw new TidemarkError('LOG_UNAVAILABLE', 'the log is down')
      flushed.push(...messages)
    },
    appendRewards: () => Promise.reject(new Error('the feed has no rewards')),
    consumeFlushes: () => Promise.reject(new Error('not consumed here')),
    lag: () => Promise.resolve(0),
    check: () => (isLogDown ? Promise.reject(new TidemarkError('LOG_UNAVAILABLE', 'the log is down')) : Promise.resolve()),
    close: () => Promise.resolve(),
  }
  const stores = { hot: makeFeedStoreModel(REGIONS), records: openModelFeedRecords(makeFeedRecordsState()), log }
  guarded = guardFeedStores(clock, stores, {}, (error) => errors.push(error))
  writeBack = makeFeedWriteBack(
    clock,
    guarded,
    {
      persist: async (keys) => {
        persisted.posts.push(...keys)
        return { keys: keys.length, posts: 0, words: 0, missing: 0, left: 0 }
      },
      counters: {
        persist: async (subjects) => {
          persisted.counts.push(...subjects.map(({ oid }) => oid))
          return { rows: subjects.length }
        },
        listDirty: () => Promise.resolve([]),
      },
    },
    { regions: REGIONS, feed: makeConfig([]).feed },
    (error) => errors.push(error),
  )
})
afterEach(() => guarded.stop())

it('keys leave after a second, each once, in one message of their region', async () => {
  for (const key of [POST, WORDS, COUNTS, POST]) writeBack.aggregate(key)
  clock.advance(999)
  expect(flushed).toEqual([])
  clock.advance(1)
  await writeBack.drain()
  expect(flushed.map(({ region, keys }) => ({ region, keys: [...keys] }))).toEqual([
    { region: regionOf('7', REGIONS), keys: [POST, WORDS, COUNTS] },
  ])
  expect(persisted).toEqual({ posts: [], counts: [] })
})

it('while the log is down, posts and counters are persisted at once, each by its own step', async () => {
  isLogDown = true
  for (const key of [POST, WORDS, COUNTS]) writeBack.aggregate(key)
  await writeBack.drain()
  expect(persisted).toEqual({ posts: [POST, WORDS], counts: ['7'] })
  expect(new Set(errors.map((error) => (error as TidemarkError).code))).toEqual(new Set(['LOG_UNAVAILABLE']))
})
