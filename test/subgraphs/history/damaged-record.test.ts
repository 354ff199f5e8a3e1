/** A record of the hot store that cannot be decoded stays dirty, and fails no step and no lookup of other keys. Embedded log and record store. */
import { Redis } from 'ioredis'
import { describe, expect, onTestFinished, test } from 'vitest'
import { makeConfig } from '../../../config/config.ts'
import { systemClock } from '../../../core/clock.ts'
import type { ProgressKey } from '../../../core/domain.ts'
import { redisIsHere, startRedis } from '../../../harness/deployment/redis-servers.ts'
import { TidemarkError } from '../../../core/errors.ts'
import type { Degraded } from '../../../core/outage/degraded.ts'
import { settingsKey } from '../../../core/progress-key.ts'
import { until } from '../../../harness/until.ts'
import { makeLoaders } from '../../../loaders/history.ts'
import { openEnvironment, type Environment } from '../../../stores/lmdb/environment.ts'
import { SETTINGS, STATS, makeShelf, plainKey, recordKey } from '../../../stores/lmdb/viewer-keys.ts'
import { makeHistorySubgraph } from '../../../subgraphs/history/index.ts'
import { persistKeys } from '../../../subgraphs/history/persist/persist.ts'
import type { HotStore } from '../../../subgraphs/history/stores/hot-store.ts'
import { openLmdbHotStore } from '../../../subgraphs/history/stores/lmdb/hot-store.ts'
import { openLmdbRecordStore } from '../../../subgraphs/history/stores/lmdb/record-store.ts'
import { openHotTables } from '../../../subgraphs/history/stores/lmdb/work.ts'
import { openRedisHotStore } from '../../../subgraphs/history/stores/redis/hot-store.ts'
import { makeLayout, packOid } from '../../../subgraphs/history/stores/redis/keys.ts'
import { STATE_FIELD } from '../../../subgraphs/history/stores/redis/values.ts'
import { openLmdbLog } from '../../../writeback/stores/lmdb/log.ts'
import { keyOf, report, write } from '../../contracts/reports.ts'
import { makeFolder } from '../../stores/lmdb/folders.ts'

const regions = 4
const ALL = [0, 1, 2, 3]
const timelineCap = 10
const PERSIST = { timelineCap, purgeRowsMax: 100 }

/** Replaces the stored bytes of a key by those that `change` returns. */
type Damage = (key: ProgressKey, change: (bytes: Buffer) => Buffer) => Promise<void>
type Hot = { hot: HotStore; damage: Damage; cut: (bytes: Buffer) => Buffer; close(): Promise<void> }

async function openOnRedis() {
  const servers = await startRedis()
  const admin = new Redis(servers.urls[0] as string)
  const layout = makeLayout('tm', regions)
  const contentsOf = ({ viewer, business }: ProgressKey) => layout.contents(layout.regionOf(viewer), viewer, business)
  const hot = openRedisHotStore({ urls: servers.urls, regions })
  return {
    hot,
    async damage(key: ProgressKey, change: (bytes: Buffer) => Buffer) {
      const bytes = (await admin.hgetBuffer(contentsOf(key), packOid(key.oid))) as Buffer
      await admin.hset(contentsOf(key), packOid(key.oid), change(bytes))
    },
    cut: (bytes: Buffer) => bytes.subarray(0, 10),
    putState: (key: ProgressKey, state: Buffer) => admin.hset(contentsOf(key), STATE_FIELD, state),
    async close() {
      await hot.close()
      admin.disconnect()
      await servers.stop()
    },
  }
}

function openOnLmdb(environment: Environment): Hot {
  const { viewers } = openHotTables(environment)
  const hot = openLmdbHotStore(environment)
  return {
    hot,
    damage: (key, change) =>
      environment.write(() => {
        const at = Buffer.from(recordKey(makeShelf(key.viewer, key.business), key.oid))
        void viewers.put(at, change(Buffer.from(viewers.get(at) as Buffer)))
      }),
    cut: (bytes) => Buffer.concat([bytes.subarray(0, 6), Buffer.from([0x08, 0xff])]),
    close: () => hot.close(),
  }
}

function openEmbedded() {
  const folder = makeFolder()
  const environment = openEnvironment(folder.path, { regions, sizeMaxGb: 1 })
  const records = openLmdbRecordStore(environment)
  onTestFinished(async () => {
    await records.close()
    await environment.close()
    folder.remove()
  })
  return { environment, records }
}

async function open(adapter: 'Redis' | 'LMDB') {
  const embedded = openEmbedded()
  const opened = adapter === 'Redis' ? await openOnRedis() : openOnLmdb(embedded.environment)
  onTestFinished(() => opened.close())
  const put = async (viewer: string, ...oids: string[]) => {
    const now = Date.now()
    for (const oid of oids) await opened.hot.putProgress([write(viewer, oid, report(now))], { now, timelineCap })
  }
  const dirty = async () =>
    (await opened.hot.listDirty(ALL, Date.now() + 60_000, 1_000)).map(({ viewer, oid }) => `${viewer} ${oid}`).sort()
  const rows = async (keys: readonly ProgressKey[]) => (await embedded.records.getProgressMany(keys)).map((row) => row !== undefined)
  return { ...embedded, ...opened, put, dirty, rows }
}

for (const adapter of ['Redis', 'LMDB'] as const) {
  describe.skipIf(adapter === 'Redis' && !(await redisIsHere()))(`a damaged record on ${adapter}`, () => {
    test('stays dirty and is reported, and all others of its batch are persisted', async () => {
      const { hot, records, damage, cut, put, dirty, rows } = await open(adapter)
      await put('1', 'a', 'b')
      await put('5', 'a')
      const keys = [keyOf('1', 'a'), keyOf('1', 'b'), keyOf('5', 'a')]
      let bytes: Buffer = Buffer.alloc(0)
      await damage(keys[0] as ProgressKey, (before) => cut((bytes = before)))
      const reported: Error[] = []
      expect(await persistKeys({ hot, records }, keys, PERSIST, (error) => reported.push(error))).toMatchObject({ rows: 2, missing: 0 })
      expect(reported).toMatchObject([{ code: 'DATA_DAMAGED', message: expect.stringContaining('"a" of viewer "1" in business 1 cannot') }])
      expect([await dirty(), await rows(keys)]).toEqual([['1 a'], [false, true, true]])
      await damage(keys[0] as ProgressKey, () => bytes)
      await persistKeys({ hot, records }, keys, PERSIST)
      expect([await dirty(), await rows(keys)]).toEqual([[], [true, true, true]])
    })

    test('is an error for a caller without `onDamage`', async () => {
      const { hot, records, damage, cut, put, dirty } = await open(adapter)
      await put('1', 'a', 'b')
      await damage(keyOf('1', 'a'), cut)
      const step = persistKeys({ hot, records }, [keyOf('1', 'a'), keyOf('1', 'b')], PERSIST)
      await expect(step).rejects.toMatchObject({ code: 'DATA_DAMAGED' })
      expect(await dirty()).toEqual(['1 a', '1 b'])
    })

    test('at the end of a full timeline hinders no report, no step and no later trimming', async () => {
      const { hot, records, damage, cut, dirty, rows } = await open(adapter)
      let now = Date.now() - 60_000
      const put = (oid: string) => hot.putProgress([write('1', oid, report((now += 1_000)))], { now, timelineCap })
      await put('old')
      let bytes: Buffer = Buffer.alloc(0)
      await damage(keyOf('1', 'old'), (before) => cut((bytes = before)))
      const others = Array.from({ length: timelineCap + 2 }, (_, at) => `n${at}`)
      for (const oid of others) expect(await put(oid)).toMatchObject([{ status: 'written' }])
      const reported: Error[] = []
      const keys = ['old', ...others].map((oid) => keyOf('1', oid))
      await persistKeys({ hot, records }, keys, PERSIST, (error) => reported.push(error))
      expect([reported.length, await dirty(), await rows(keys)]).toEqual([1, ['1 old'], [false, ...others.map(() => true)]])
      expect(await put('new')).toMatchObject([{ status: 'written' }])
      await damage(keyOf('1', 'old'), () => bytes)
      await persistKeys({ hot, records }, [keyOf('1', 'old'), keyOf('1', 'new')], PERSIST)
      const { entries } = await hot.listTimeline('1', [1], undefined, 100)
      expect([await dirty(), entries.length]).toEqual([[], timelineCap])
    })

    test('that is persisted is trimmed like any other', async () => {
      const { hot, records, damage, cut, put } = await open(adapter)
      await put('1', 'a')
      await persistKeys({ hot, records }, [keyOf('1', 'a')], PERSIST)
      await damage(keyOf('1', 'a'), cut)
      const now = Date.now() + 1_000
      for (let at = 0; at < timelineCap; at++) await hot.putProgress([write('1', `n${at}`, report(now + at))], { now, timelineCap })
      expect(await hot.getProgressMany([keyOf('1', 'a')])).toMatchObject([{ record: undefined, older: { clearedAt: 0 } }])
    })

    test('is an error for lookups of its key only, and lets no other answer name a store that it did not need', async () => {
      const { hot, records, damage, cut, put } = await open(adapter)
      await put('1', 'a', 'b')
      await put('5', 'a')
      const trimmed = Array.from({ length: timelineCap + 1 }, (_, at) => `n${at}`)
      await put('9', ...trimmed)
      const keys = trimmed.map((oid) => keyOf('9', oid))
      await persistKeys({ hot, records }, keys, PERSIST)
      await damage(keyOf('1', 'a'), cut)
      const down = () => Promise.reject(new TidemarkError('RECORD_STORE_UNAVAILABLE', 'the record store is down'))
      const loadersFor = makeLoaders(hot, { ...records, getProgressMany: down })
      const ask = async (...asked: ProgressKey[]) => {
        const degraded: Degraded = new Set()
        const found = await loadersFor(degraded).progress.loadMany(asked)
        return [found.map((each) => (each instanceof Error ? (each as TidemarkError).code : each?.position)), [...degraded]]
      }
      const answers = await Promise.all([ask(keyOf('1', 'a'), keyOf('1', 'b')), ask(keyOf('5', 'a')), ask(keyOf('9', 'none'))])
      expect(answers).toEqual([
        [['DATA_DAMAGED', 60_000], []],
        [[60_000], []],
        [[undefined], ['recordStore']],
      ])
    })

    test('holds up neither the messages of the log nor the keys behind it in a sweep', async () => {
      const { environment, hot, records, damage, cut, put, dirty, rows } = await open(adapter)
      // More damaged keys than a step of the sweeper has, all older than the others.
      for (const oid of ['a', 'b', 'c']) {
        await put('1', oid)
        await damage(keyOf('1', oid), cut)
      }
      await put('5', 'flushed', 'swept')
      const log = openLmdbLog(environment, systemClock, { retryMinMs: 10 })
      const history = { timelineCap, persistKeysMax: 2, flushAgeMaxMs: 1, sweepAfterMs: 500, sweepEveryMs: 50 }
      const config = makeConfig([{ name: 'test', values: { stores: { regions }, history } }])
      const errors: unknown[] = []
      const subgraph = makeHistorySubgraph(systemClock, { hot, log, records }, config, (error) => errors.push(error))
      await log.appendFlushes([{ region: 1, keys: [keyOf('1', 'a'), keyOf('5', 'flushed')] }])
      const job = await subgraph.startJob()
      await until('the message is persisted', async () => (await log.lag()) === 0)
      expect(await rows([keyOf('1', 'a'), keyOf('5', 'flushed')])).toEqual([false, true])
      await until('the sweeper has reached the last key', async () => (await dirty()).length === 3)
      expect([await dirty(), await rows([keyOf('5', 'swept')])]).toEqual([['1 a', '1 b', '1 c'], [true]])
      expect(errors[0]).toMatchObject({ code: 'DATA_DAMAGED' })
      await job.stop()
      await subgraph.drain()
      await log.close()
    })
  })
}

test.skipIf(!(await redisIsHere()))('a damaged state of a timeline on Redis affects no other timeline', async () => {
  const { records } = openEmbedded()
  const { hot, putState, close } = await openOnRedis()
  onTestFinished(close)
  const now = Date.now()
  await hot.putProgress([write('1', 'a', report(now)), write('5', 'a', report(now))], { now, timelineCap })
  await putState(keyOf('1', 'a'), Buffer.alloc(7))
  const reported: Error[] = []
  await persistKeys({ hot, records }, [keyOf('1', 'a'), keyOf('5', 'a')], PERSIST, (error) => reported.push(error))
  expect([reported.length, await hot.listDirty(ALL, now, 10)]).toEqual([1, [keyOf('1', 'a')]])
})

describe('damaged values of a viewer on LMDB', () => {
  const settingsOf = (viewer: string) => Buffer.from(plainKey(makeShelf(viewer, 0), SETTINGS))
  const statsOf = (viewer: string) => Buffer.from(plainKey(makeShelf(viewer, 1), STATS))

  for (const [what, at, damaged, left] of [
    ['stats', statsOf('1'), [0, 0, 1], ['1 a']],
    ['settings', settingsOf('1'), [0, 0, 0, 0, 0, 1, 0x08, 0xff], ['1 a', '1 settings']],
  ] as const) {
    test(`${what} keep only the keys of their viewer dirty, and fail only their lookups`, async () => {
      const { environment, hot, records, put, dirty, rows } = await open('LMDB')
      await put('1', 'a')
      await put('5', 'a')
      for (const viewer of ['1', '5']) await hot.setPaused(viewer, false, Date.now())
      await environment.write(() => void openHotTables(environment).viewers.put(at, Buffer.from(damaged)))
      const progress = [keyOf('1', 'a'), keyOf('5', 'a')]
      const reported: Error[] = []
      const keys = [...progress, settingsKey('1'), settingsKey('5')]
      await persistKeys({ hot, records }, keys, PERSIST, (error) => reported.push(error))
      expect([await dirty(), await rows(progress)]).toEqual([left, [false, true]])
      expect(reported).toMatchObject(left.map(() => ({ code: 'DATA_DAMAGED', message: expect.stringContaining('of viewer "1"') })))
      const found = await makeLoaders(hot, records)(new Set()).progress.loadMany(progress)
      expect(found).toMatchObject([{ code: 'DATA_DAMAGED' }, { position: 60_000 }])
      while ((await hot.purgeExpired(Date.now() + 86_400_000, 100)) > 0);
      expect(await hot.getProgressMany([keyOf('5', 'a')])).toEqual([{ record: undefined, older: undefined }])
    })
  }

  test('are no outage of the store, however they are damaged', async () => {
    const { hot, damage, put } = await open('LMDB')
    await put('1', 'a')
    // A field with a wire type that does not exist: the decoder throws a plain error, as LMDB does when it fails.
    await damage(keyOf('1', 'a'), (bytes) => Buffer.concat([bytes.subarray(0, 6), Buffer.from([0x7f])]))
    await expect(hot.listTimeline('1', [1], undefined, 10)).rejects.toMatchObject({ code: 'DATA_DAMAGED' })
    const now = Date.now()
    await expect(hot.putProgress([write('1', 'a', report(now))], { now, timelineCap })).rejects.toMatchObject({ code: 'DATA_DAMAGED' })
  })
})
