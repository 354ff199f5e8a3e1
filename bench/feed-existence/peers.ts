/**
 * The legacy design and an alternative. The legacy design has one sorted set of raw ids per viewer, read by ZSCORE or ZMSCORE. RedisBloom
 * has a filter of the same rate per viewer and month. Here each is created for exactly as many records as it gets, which a service cannot
 * know in advance.
 */
import type { Redis } from 'ioredis'
import { ID_BYTES, MONTHS, RATE, type MadeViewer } from './viewers.ts'
import { memoryOf } from './servers.ts'

export type Peer = {
  put(viewer: MadeViewer): Promise<void>
  bytes(viewer: MadeViewer): Promise<number>
  remove(viewer: MadeViewer): Promise<void>
}

/** Resolves to the number of candidates that were not watched. */
export type Ask = (viewer: MadeViewer, candidates: readonly string[]) => Promise<number>

export type LegacyPeer = Peer & { zscore: Ask; zmscore: Ask }
export type BloomPeer = Peer & { exists: Ask }

const CALL = 5_000

export function legacyPeer(redis: Redis): LegacyPeer {
  const key = ({ name }: MadeViewer): string => `played:${name}`
  return {
    async put(viewer) {
      if (viewer.ids.some((id) => id.length !== ID_BYTES)) throw new Error('raw ids have 25 bytes')
      for (let at = 0; at < viewer.ids.length; at += CALL) {
        await redis.zadd(key(viewer), ...viewer.ids.slice(at, at + CALL).flatMap((id, index) => [1_700_000_000_000 + at + index, id]))
      }
    },
    bytes: (viewer) => memoryOf(redis, key(viewer)),
    remove: async (viewer) => void (await redis.unlink(key(viewer))),
    async zscore(viewer, candidates) {
      const pipeline = redis.pipeline()
      for (const id of candidates) pipeline.zscore(key(viewer), id)
      const answers = (await pipeline.exec()) ?? []
      return answers.filter(([, score]) => score === null).length
    },
    async zmscore(viewer, candidates) {
      const scores = await redis.zmscore(key(viewer), ...candidates)
      return scores.filter((score) => score === null).length
    },
  }
}

export function bloomPeer(redis: Redis): BloomPeer {
  const keys = ({ name }: MadeViewer): string[] => Array.from({ length: MONTHS }, (_, back) => `bloom:${name}:${back}`)
  return {
    async put(viewer) {
      const size = Math.ceil(viewer.ids.length / MONTHS)
      for (const [back, key] of keys(viewer).entries()) {
        await redis.call('BF.RESERVE', key, RATE, size)
        const ids = viewer.ids.slice(back * size, (back + 1) * size)
        for (let at = 0; at < ids.length; at += CALL) await redis.call('BF.MADD', key, ...ids.slice(at, at + CALL))
      }
    },
    async bytes(viewer) {
      const all = await Promise.all(keys(viewer).map((key) => memoryOf(redis, key)))
      return all.reduce((sum, each) => sum + each, 0)
    },
    remove: async (viewer) => void (await redis.unlink(...keys(viewer))),
    async exists(viewer, candidates) {
      const pipeline = redis.pipeline()
      for (const key of keys(viewer)) pipeline.call('BF.MEXISTS', key, ...candidates)
      const answers = ((await pipeline.exec()) ?? []).map(([, found]) => found as number[])
      return candidates.filter((_, at) => answers.every((found) => found[at] === 0)).length
    },
  }
}
