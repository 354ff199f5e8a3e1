/**
 * The hot store of feed existence on LMDB. Each port call is one transaction for all its viewers, which exceeds the atomicity per region
 * that the port requires. Calls of one event turn share a commit. environment.ts describes durability, keys.ts the layout, and put.ts the
 * calls.
 *
 * A viewer's state is kept after all plays are folded, since `folds` continues from it. Issued subjects are removed by `purgeIssued`
 * (issued.ts).
 */
import type { ViewerId } from '../../../../core/domain.ts'
import { shardOf } from '../../model/time-ring.ts'
import { checkRingShape } from '../ring-layouts.ts'
import type { RingShape, SeenStore } from '../hot-store.ts'
import type { Environment } from '../../../../stores/lmdb/environment.ts'
import { failingAs } from '../../../../stores/lmdb/failures.ts'
import { purgeIssued } from './issued.ts'
import { readRingKey, ringRange } from './keys.ts'
import {
  countRing,
  filledShards,
  getSeen,
  openSeenTables,
  putIssued,
  readLayouts,
  readStaged,
  removeStaged,
  stagePlays,
  writeLayout,
} from './put.ts'
import { confirmReward, listPendingRewards } from '../../../../writeback/stores/lmdb/pending-rewards.ts'

/** Throws CONFIG_INVALID for a ring whose shards do not map to regions. The environment stays open when the store is closed. */
export function openLmdbSeenStore(environment: Environment, shape: RingShape): SeenStore {
  const { regions, folder } = environment
  checkRingShape(shape, regions)
  const tables = openSeenTables(environment)
  const calling = <T>(task: () => T | Promise<T>): Promise<T> => failingAs('HOT_STORE_UNAVAILABLE', folder, task)
  const writing = <T>(action: () => T): Promise<T> => calling(() => environment.write(action))
  const freeing = <T>(action: () => T): Promise<T> => calling(() => environment.writeToFree(action))
  const reading = <T>(action: () => T): Promise<T> => calling(() => environment.read(action))
  const shardOfViewer = (viewer: ViewerId): number => shardOf(viewer, regions, shape.shards)
  const shapes = (): RingShape[] => [shape, ...readLayouts(tables)]

  return {
    async putIssued(viewer, business, oids, options) {
      return oids.length > 0 && writing(() => putIssued(tables, viewer, business, oids, options, regions))
    },
    stagePlays: async (plays, options) =>
      plays.length === 0 ? [] : writing(() => stagePlays(tables, plays, options, regions, shardOfViewer)),
    purgeIssued: (servedBefore, limit) => freeing(() => purgeIssued(tables, servedBefore, limit)),
    getSeen: (viewer, business) => reading(() => getSeen(tables, viewer, business)),
    getSeenMany: (of) => reading(() => of.map(({ viewer, business }) => getSeen(tables, viewer, business))),

    filledShards: (slot, shards) => reading(() => filledShards(tables, slot, shards)),
    listRing: (slot, shard, limit) =>
      reading(() =>
        limit <= 0 ? [] : Array.from(tables.ring.getKeys({ ...ringRange(slot, shard), limit }), (key) => readRingKey(key).viewer),
      ),
    readStaged: (slot, viewers) => reading(() => viewers.map((viewer) => readStaged(tables, slot, viewer))),
    async removeStaged(slot, folded) {
      if (folded.length === 0) return
      await freeing(() => {
        const shards = new Set(shapes().map(({ shards }) => shards))
        for (const one of folded) removeStaged(tables, slot, one, regions, shards)
      })
    },
    countRing: () => reading(() => countRing(tables, Math.max(...shapes().map(({ slots }) => slots)))),
    getRingLayouts: () => reading(() => readLayouts(tables)),
    putRingLayout: (layout) => writing(() => writeLayout(tables, layout)),

    listPendingRewards: (asked, claimedBefore, limit) => reading(() => listPendingRewards(tables, asked, claimedBefore, limit)),
    async confirmRewards(rewards) {
      if (rewards.length > 0) await freeing(() => rewards.forEach((reward) => confirmReward(tables, regions, reward)))
    },

    check: () => reading(() => undefined),
    close: () => Promise.resolve(),
  }
}
