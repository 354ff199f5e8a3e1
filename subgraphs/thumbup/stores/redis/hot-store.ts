/**
 * The hot store of marks on Redis 7 or later, or Valkey: a single server or a Cluster, which may also hold history. `keys.ts` describes the
 * keys. The scripts make each write in one atomic step per region. Reads are plain commands (`read.ts`, `lists.ts`). `connection.ts` bounds
 * every wait.
 *
 * Opening connects in the background and never fails. The first call that gets an answer finds out whether the data belongs to another
 * deployment, as in history's `hot-store.ts`.
 */
import type { MarkStore } from '../hot-store.ts'
import { databaseOf, type RedisConnectionOptions } from '../../../../stores/redis/clients.ts'
import { connect } from '../../../../stores/redis/connection.ts'
import { MARK_FORMAT, makeMarkLayout } from './keys.ts'
import { makeMarkLists } from './lists.ts'
import { makeMarkPersisting } from './persist.ts'
import { makeMarkReading } from './read.ts'
import { makeReadStarts } from './read-starts.ts'
import { makeMarkWriting } from './put.ts'
import { checkKeyOptions, checkRegions, makeVerification, outageOf } from '../../../../stores/redis/verification.ts'

export type RedisMarkStoreOptions = RedisConnectionOptions & {
  /** Shards of viewers: 1 to 16384, fixed for the life of a deployment. */
  regions: number
  /** The prefix of all keys, for deployments that share a server. It may be that of history. No braces. Default "tm". */
  prefix?: string
  /**
   * Milliseconds without a write after which a viewer's marks in a business leave memory. Nothing is lost: the viewer becomes unknown, and
   * is filled again. Default 0: never. Otherwise at least one day, within which everything must be persisted.
   */
  expireMs?: number
  /** True: data of another deployment counts as an outage, and calls reject with HOT_STORE_UNAVAILABLE. Default false. */
  mayBeUnfit?: boolean
}

export function openRedisMarkStore(options: RedisMarkStoreOptions): MarkStore {
  const { regions, prefix = 'tm', expireMs = 0 } = options
  checkKeyOptions({ prefix, expireMs })
  const layout = makeMarkLayout(prefix, regions, databaseOf(options))
  const connection = connect(options, (error, keys) => outageOf(layout, error, keys))
  const verify = makeVerification(connection, layout, MARK_FORMAT, options.mayBeUnfit)
  const port = {
    ...makeMarkReading(connection, layout),
    ...makeReadStarts(connection, layout),
    ...makeMarkLists(connection, layout),
    ...makeMarkWriting(connection, layout, expireMs),
    ...makeMarkPersisting(connection, layout),
  }
  return {
    putMarks: verify(port.putMarks),
    getMarkMany: verify(port.getMarkMany),
    listLikes: verify(port.listLikes),
    beginReads: verify(port.beginReads),
    fillMarks: verify(port.fillMarks),
    readDirtyMarks: verify(port.readDirtyMarks),
    clearDirtyMarks: verify(port.clearDirtyMarks),
    dropDirtyMarks: verify(port.dropDirtyMarks),
    listDirtyMarks: verify(port.listDirtyMarks),
    countDirtyMarks: verify(port.countDirtyMarks),
    purgeUndone: verify(port.purgeUndone),
    forgetBusiness: verify(port.forgetBusiness),
    countViewers: verify(port.countViewers),
    check: verify((part?: number) => checkRegions(connection, layout, part)),
    ...(connection.isCluster ? { partOf: layout.regionOf } : {}),
    async close() {
      connection.close()
    },
  }
}
