/**
 * The hot store on Redis 7 or later, or Valkey: a single server or a Cluster. `keys.ts` describes the layout, the scripts do each write in
 * one atomic step per region, and `connection.ts` bounds every wait.
 *
 * Opening connects in the background and never fails, so that a process may start while Redis is down. The first call that gets an answer
 * stores the region count. If it finds that of another deployment, it rejects with DATA_INCOMPATIBLE, as does every later call. Call
 * `checkRedisAtStart` (`verification.ts`) at start.
 */
import type { HotStore } from '../hot-store.ts'
import { connect } from '../../../../stores/redis/connection.ts'
import { databaseOf, type RedisConnectionOptions } from '../../../../stores/redis/clients.ts'
import { makeFilling } from './fill.ts'
import { makeFollowing } from './following.ts'
import { FORMAT, makeLayout } from './keys.ts'
import { makePersisting } from './persist.ts'
import { makePurging } from './purge.ts'
import { makeReading } from './read.ts'
import { checkKeyOptions, checkRegions, makeVerification, outageOf } from '../../../../stores/redis/verification.ts'
import { makeWriting } from './put.ts'

export type RedisHotStoreOptions = RedisConnectionOptions & {
  /** Shards of viewers: 1 to 16384, fixed for the life of a deployment. */
  regions: number
  /** Prefix of all keys, for deployments that share a server. No braces. Default "tm". */
  prefix?: string
  /**
   * Milliseconds without a write after which a viewer's timeline in a business is dropped. Use at least the retention of the record store,
   * since dropped entries are not looked up there. Default 0: never. Minimum otherwise one day.
   */
  expireMs?: number
}

export function openRedisHotStore(options: RedisHotStoreOptions): HotStore {
  const { regions, prefix = 'tm', expireMs = 0 } = options
  checkKeyOptions({ prefix, expireMs })
  const layout = makeLayout(prefix, regions, databaseOf(options))
  const connection = connect(options, (error, keys) => outageOf(layout, error, keys))
  const verify = makeVerification(connection, layout, FORMAT)
  const reading = makeReading(connection, layout)
  const port = {
    ...reading,
    ...makeWriting(connection, layout, expireMs),
    ...makePersisting(connection, layout),
    ...makeFilling(connection, layout, expireMs),
    ...makePurging(connection, layout),
    ...makeFollowing(connection, layout),
    getSettings: async (viewer: string) => (await reading.getSettingsMany([viewer]))[0] as Awaited<ReturnType<HotStore['getSettings']>>,
    readDirtySettings: reading.getSettingsMany,
    check: (part?: number) => checkRegions(connection, layout, part),
  }
  return {
    putProgress: verify(port.putProgress),
    deleteProgress: verify(port.deleteProgress),
    clearProgress: verify(port.clearProgress),
    setPaused: verify(port.setPaused),
    getSettings: verify(port.getSettings),
    getProgressMany: verify(port.getProgressMany),
    listTimeline: verify(port.listTimeline),
    listChanges: verify(port.listChanges),
    readDirtyProgress: verify(port.readDirtyProgress),
    readDirtySettings: verify(port.readDirtySettings),
    clearDirty: verify(port.clearDirty),
    fillProgress: verify(port.fillProgress),
    fillSettings: verify(port.fillSettings),
    dropDirty: verify(port.dropDirty),
    listDirty: verify(port.listDirty),
    countDirty: verify(port.countDirty),
    listPendingRewards: verify(port.listPendingRewards),
    confirmRewards: verify(port.confirmRewards),
    purgeExpired: verify(port.purgeExpired),
    followProgress: verify(port.followProgress),
    check: verify(port.check),
    ...(connection.isCluster ? { partOf: layout.regionOf } : {}),
    async close() {
      port.closeFollowing()
      connection.close()
    },
  }
}
