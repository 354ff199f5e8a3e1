/**
 * The hot store of feed existence on Redis 7 or later, or Valkey: a single server or a Cluster, which may hold other data too. `keys.ts`
 * describes the layout. Each write is one script per region, each read is plain commands in one round trip, and `connection.ts` bounds
 * every wait. Every call may be sent again if its answer is lost: times make repetitions harmless, and a play that is staged again after
 * its fold is folded again.
 *
 * Issued subjects expire some time after the viewer was last served (`ttlMs` of the port). Staged plays never expire: a viewer who does not
 * return stays in the ring until the job has folded their plays.
 *
 * Opening connects in the background and never fails. The first call that gets an answer checks whether the data belongs to this deployment
 * (`stores/redis/verification.ts`).
 */
import { checkRingShape } from '../ring-layouts.ts'
import type { RingShape, SeenStore } from '../hot-store.ts'
import type { RedisConnectionOptions } from '../../../../stores/redis/clients.ts'
import { connect } from '../../../../stores/redis/connection.ts'
import { makePendingRewards } from '../../../../writeback/stores/redis/pending-rewards.ts'
import { SEEN_FORMAT, makeSeenLayout } from './keys.ts'
import { makeSeenReading } from './read.ts'
import { makeSeenRing } from './ring.ts'
import { makeSeenWriting } from './put.ts'
import { checkKeyOptions, checkRegions, makeVerification, outageOf } from '../../../../stores/redis/verification.ts'

export type RedisSeenStoreOptions = RedisConnectionOptions &
  RingShape & {
    /** Shards of viewers: 1 to 16384, fixed for the life of a deployment. */
    regions: number
    /** Prefix of all keys, for deployments that share a server. It may equal that of history. No braces. Default "tm". */
    prefix?: string
  }

export function openRedisSeenStore(options: RedisSeenStoreOptions): SeenStore {
  const { regions, slots, shards, prefix = 'tm' } = options
  checkKeyOptions({ prefix, expireMs: 0 })
  checkRingShape({ slots, shards }, regions)
  const layout = makeSeenLayout(prefix, regions)
  const connection = connect(options, (error, keys) => outageOf(layout, error, keys))
  const verify = makeVerification(connection, layout, SEEN_FORMAT)
  const ring = makeSeenRing(connection, layout, { slots, shards })
  const reading = makeSeenReading(connection, layout)
  const writing = makeSeenWriting(connection, layout, { shards, shapes: ring.knownShapes })
  const rewards = makePendingRewards(connection, layout.rewards, layout.regionOf)
  return {
    putIssued: verify(writing.putIssued),
    // Redis expires them.
    purgeIssued: async () => 0,
    stagePlays: verify(writing.stagePlays),
    removeStaged: verify(writing.removeStaged),
    getSeen: verify(reading.getSeen),
    getSeenMany: verify(reading.getSeenMany),
    readStaged: verify(reading.readStaged),
    filledShards: verify(ring.filledShards),
    listRing: verify(ring.listRing),
    countRing: verify(ring.countRing),
    getRingLayouts: verify(ring.getRingLayouts),
    putRingLayout: verify(ring.putRingLayout),
    listPendingRewards: verify(rewards.listPendingRewards),
    confirmRewards: verify(rewards.confirmRewards),
    check: verify((part?: number) => checkRegions(connection, layout, part)),
    ...(connection.isCluster ? { partOf: layout.regionOf } : {}),
    async close() {
      connection.close()
    },
  }
}
