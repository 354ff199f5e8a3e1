/**
 * Longsets on LMDB. The table has two values per viewer: the packed viewer and SET → when the set ends (ms, 8 bytes) and the set; the
 * packed viewer and LEASE → when the lease ends and the lease. A transaction replaces the script of Redis.
 */
import { randomUUID } from 'node:crypto'
import type { Clock } from '../../../../core/clock.ts'
import type { ViewerId } from '../../../../core/domain.ts'
import { PACKED_ID_BYTES_MAX, packId } from '../../../../core/keys.ts'
import type { Environment } from '../../../../stores/lmdb/environment.ts'
import { failingAs } from '../../../../stores/lmdb/failures.ts'
import { longsetCount, longsetHas } from '../../packed/longset.ts'
import { LEASE_MS, VOID_LEASE, type LongsetStore } from '../longset-store.ts'

const SET = 0
const LEASE = 1
const TIME_BYTES = 8

/** The environment stays open when the store is closed: others may use it. */
export function openLmdbLongsets(environment: Environment, clock: Clock): LongsetStore {
  const table = environment.table('longsets')
  const calling = <T>(task: () => T | Promise<T>): Promise<T> => failingAs('HOT_STORE_UNAVAILABLE', environment.folder, task)
  const reading = <T>(task: () => T): Promise<T> => calling(() => environment.read(task))
  const writing = <T>(task: () => T): Promise<T> => calling(() => environment.write(task))

  function held(viewer: ViewerId, kind: number): Buffer | undefined {
    const value = table.get(keyOf(viewer, kind))
    return value === undefined || value.readDoubleBE(0) <= clock.now() ? undefined : value.subarray(TIME_BYTES)
  }

  function keep(viewer: ViewerId, kind: number, value: Buffer, forMs: number): void {
    const end = Buffer.allocUnsafe(TIME_BYTES)
    end.writeDoubleBE(clock.now() + forMs)
    table.putSync(keyOf(viewer, kind), Buffer.concat([end, value]))
  }

  return {
    get: (viewer) => reading(() => held(viewer, SET)),
    has: (viewer, ids) =>
      reading(() => {
        const set = held(viewer, SET)
        return set && ids.map((id) => longsetHas(set, id))
      }),
    countMany: (viewers) =>
      reading(() =>
        viewers.map((viewer) => {
          const set = held(viewer, SET)
          return set && longsetCount(set)
        }),
      ),
    beginBuild: (viewer) =>
      writing(() => {
        const shared = held(viewer, LEASE)
        if (shared !== undefined) return shared.toString()
        const lease = randomUUID()
        keep(viewer, LEASE, Buffer.from(lease), LEASE_MS)
        return lease
      }),
    async put(viewer, set, lease, ttlMs) {
      if (lease === VOID_LEASE || ttlMs <= 0) return false
      return writing(() => {
        if (held(viewer, LEASE)?.toString() !== lease) return false
        keep(viewer, SET, set, ttlMs)
        return true
      })
    },
    forget: (viewers, refuseMs) =>
      writing(() => {
        for (const viewer of viewers) {
          table.removeSync(keyOf(viewer, SET))
          if (refuseMs === 0) table.removeSync(keyOf(viewer, LEASE))
          else keep(viewer, LEASE, Buffer.from(VOID_LEASE), refuseMs)
        }
      }),
    close: () => Promise.resolve(),
  }
}

function keyOf(viewer: ViewerId, kind: number): Buffer {
  const key = Buffer.allocUnsafe(PACKED_ID_BYTES_MAX + 1)
  const end = packId(viewer, key, 0)
  key[end] = kind
  return key.subarray(0, end + 1)
}
