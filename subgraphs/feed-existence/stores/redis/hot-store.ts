/**
 * The hot store of what was seen, on Redis 7 or later, or Valkey: a single server or a Cluster, also one that holds other
 * facts. `keys.ts` says what stands where; each write is one script per region, each read plain commands in one
 * round trip; `connection.ts` bounds every wait. Every call may be sent again when its answer is lost: times say what is
 * meant, and a play that is staged again after it was folded is folded again.
 *
 * What was issued expires by itself, some time after the viewer was last served (`ttlMs` of the port). What is staged never does: a viewer who never comes
 * back stays in the ring until the job has folded him.
 *
 * Opening connects in the background and never fails; the first call that gets an answer finds out whether the data is
 * another deployment's, as in `hot-store.ts`.
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
    /** What all keys begin with, for deployments that share a server; that of history will do. No braces. Default "tm". */
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
    // It expires.
    purgeIssued: async () => 0,
    stagePlays: verify(writing.stagePlays),
    removeStaged: verify(writing.removeStaged),
    getSeen: verify(reading.getSeen),
    getSeenMany: verify(reading.getSeenMany),
    readStaged: verify(reading.readStaged),
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
