/**
 * The feed's hot store on Redis 7 or later, or Valkey: a single server or a Cluster. `keys.ts` describes the layout. The scripts do each
 * write in one atomic step per region, and `connection.ts` bounds every wait.
 *
 * Opening connects in the background and never fails. The first call that gets an answer stores the region count, or rejects with
 * DATA_INCOMPATIBLE if it is another, as in the hot store of history.
 */
import { type RedisConnectionOptions } from '../../../../stores/redis/clients.ts'
import { connect } from '../../../../stores/redis/connection.ts'
import { checkKeyOptions, checkRegions, makeVerification, outageOf } from '../../../../stores/redis/verification.ts'
import type { FeedHotStore } from '../hot-store.ts'
import { FEED_FORMAT, makeFeedLayout } from './keys.ts'
import { makeFeedPersisting } from './persist.ts'
import { makeFeedPurging } from './purge.ts'
import { makeFeedWriting } from './put.ts'
import { makeFeedReading } from './read.ts'

export type RedisFeedStoreOptions = RedisConnectionOptions & {
  /** Shards of viewers: 1 to 16384, fixed for the life of a deployment. */
  regions: number
  /** The prefix of all keys, for deployments that share a server. It may be that of history. No braces. Default "tm". */
  prefix?: string
  /** True: data of another deployment counts as an outage, and calls reject with HOT_STORE_UNAVAILABLE. Default false. */
  mayBeUnfit?: boolean
}

export function openRedisFeedStore(options: RedisFeedStoreOptions): FeedHotStore {
  const { regions, prefix = 'tm' } = options
  checkKeyOptions({ prefix, expireMs: 0 })
  const layout = makeFeedLayout(prefix, regions)
  const connection = connect(options, (error, keys) => outageOf(layout, error, keys))
  const verify = makeVerification(connection, layout, FEED_FORMAT, options.mayBeUnfit)
  const reading = makeFeedReading(connection, layout)
  const port = {
    ...reading,
    ...makeFeedWriting(connection, layout),
    ...makeFeedPersisting(connection, layout, reading),
    ...makeFeedPurging(connection, layout),
  }
  return {
    publish: verify(port.publish),
    addToInboxes: verify(port.addToInboxes),
    removeFromInboxes: verify(port.removeFromInboxes),
    delete: verify(port.delete),
    removeFromAudience: verify(port.removeFromAudience),
    setWords: verify(port.setWords),
    getWords: verify(port.getWords),
    getPostMany: verify(port.getPostMany),
    getOutboxMany: verify(port.getOutboxMany),
    getInboxMany: verify(port.getInboxMany),
    listChanges: verify(port.listChanges),
    noteChange: verify(port.noteChange),
    readDirty: verify(port.readDirty),
    clearDirty: verify(port.clearDirty),
    dropDirty: verify(port.dropDirty),
    listDirty: verify(port.listDirty),
    countDirty: verify(port.countDirty),
    purgeOld: verify(port.purgeOld),
    check: verify((part?: number) => checkRegions(connection, layout, part)),
    ...(connection.isCluster ? { partOf: layout.regionOf } : {}),
    async close() {
      connection.close()
    },
  }
}
