/**
 * Longsets on Redis. The keys of a viewer are in the viewer's region:
 *
 * | key | type | holds |
 * |---|---|---|
 * | `tm:longset:{TAG}:42` | string | whom viewer 42 follows (`packed/longset.ts`) |
 * | `tm:longset-lease:{TAG}:42` | string | the lease of its builders, or `void` |
 *
 * A set is written in one command, so thousands of follows do not block the server. `longset-has.lua` reads a few slots of it.
 */
import { randomUUID } from 'node:crypto'
import type { ViewerId } from '../../../../core/domain.ts'
import { regionOf } from '../../../../core/regions.ts'
import type { RedisConnectionOptions } from '../../../../stores/redis/clients.ts'
import { connect, scriptCommand, type Command } from '../../../../stores/redis/connection.ts'
import { regionTags } from '../../../../stores/redis/region-tags.ts'
import { readScript } from '../../../../stores/redis/scripts.ts'
import { LONGSET_HEADER_BYTES, longsetHash, SLOT_BYTES } from '../../packed/longset.ts'
import { LEASE_MS, VOID_LEASE, type LongsetStore } from '../longset-store.ts'

export type RedisLongsetsOptions = RedisConnectionOptions & { regions: number; prefix?: string }

const SCRIPTS = new URL('./scripts/', import.meta.url)
const HAS = readScript(SCRIPTS, 'longset-has')
const PUT = readScript(SCRIPTS, 'put-longset')
const ASKED_BYTES = SLOT_BYTES + 8

export function makeLongsetLayout(prefix: string, regions: number) {
  const tags = regionTags(regions)
  const viewer =
    (kind: string) =>
    (viewer: ViewerId): string =>
      `${prefix}:${kind}:{${tags[regionOf(viewer, regions)]}}:${viewer}`
  return { longset: viewer('longset'), lease: viewer('longset-lease') }
}

export function openRedisLongsets(options: RedisLongsetsOptions): LongsetStore {
  const { regions, prefix = 'tm' } = options
  const layout = makeLongsetLayout(prefix, regions)
  const connection = connect(options)

  return {
    async get(viewer) {
      const [set] = await connection.send([{ name: 'get', args: [layout.longset(viewer)] }])
      return (set as Buffer | null) ?? undefined
    },
    async has(viewer, ids) {
      const asked = Buffer.allocUnsafe(ids.length * ASKED_BYTES)
      ids.forEach((id, at) => {
        const { slot, start, step } = longsetHash(id)
        slot.copy(asked, at * ASKED_BYTES)
        asked.writeUInt32BE(step, asked.writeUInt32BE(start, at * ASKED_BYTES + SLOT_BYTES))
      })
      const [found] = (await connection.send([scriptCommand(HAS, [layout.longset(viewer)], [asked])])) as [Buffer | null]
      return found === null ? undefined : ids.map((_, at) => found[at] === ONE)
    },
    async countMany(viewers) {
      const heads = await connection.send(
        viewers.map((viewer): Command => ({ name: 'getrange', args: [layout.longset(viewer), 0, LONGSET_HEADER_BYTES - 1] })),
      )
      return (heads as Buffer[]).map((head) => (head.length < LONGSET_HEADER_BYTES ? undefined : head.readUInt32BE(COUNT_AT)))
    },
    async beginBuild(viewer) {
      const lease = randomUUID()
      const [held] = await connection.send([{ name: 'set', args: [layout.lease(viewer), lease, 'NX', 'GET', 'PX', LEASE_MS] }])
      return held === null ? lease : (held as Buffer).toString()
    },
    async put(viewer, set, lease, ttlMs) {
      if (lease === VOID_LEASE || ttlMs <= 0) return false
      const [isStored] = await connection.send([scriptCommand(PUT, [layout.longset(viewer), layout.lease(viewer)], [lease, set, ttlMs])])
      return isStored === 1
    },
    async forget(viewers, refuseMs) {
      await connection.sendInOrder(
        viewers.map((viewer): Command[] => {
          const lease: Command =
            refuseMs === 0
              ? { name: 'del', args: [layout.lease(viewer)] }
              : { name: 'set', args: [layout.lease(viewer), VOID_LEASE, 'PX', refuseMs] }
          // In this order, no builder can store a set between the two.
          return [lease, { name: 'del', args: [layout.longset(viewer)] }]
        }),
      )
    },
    ...(connection.isCluster ? { partOf: (viewer: ViewerId) => regionOf(viewer, regions) } : {}),
    close: async () => connection.close(),
  }
}

const ONE = '1'.charCodeAt(0)
/** The number of ids in the header of a longset. */
const COUNT_AT = 8
