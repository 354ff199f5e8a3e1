/** A record of the hot store that cannot be decoded stays dirty, and affects no other key. Embedded log and record store. */
import { Redis } from 'ioredis'
import { describe, expect, onTestFinished, test } from 'vitest'
import { makeConfig } from '../../../config/config.ts'
import { systemClock } from '../../../core/clock.ts'
import type { ProgressKey } from '../../../core/domain.ts'
import { redisIsHere, startRedis } from '../../../harness/deployment/redis-servers.ts'
import { until } from '../../../harness/until.ts'
import { openEnvironment, type Environment } from '../../../stores/lmdb/environment.ts'
import { makeShelf, recordKey } from '../../../stores/lmdb/viewer-keys.ts'
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
