/**
 * A count cache with a second server behind it, for when the first does not answer: everything is put into both, and read
 * from the second only while the first fails. The second may lack what was put while it was down itself; then it is a miss,
 * as in any cache, and its versions keep it from showing anything older than it showed before.
 */
import { saysDown } from '../core/degraded.ts'
import type { CountCache } from './count-cache.ts'

export function withSecondCache(first: CountCache, second: CountCache): CountCache {
  async function read<T>(ask: (cache: CountCache) => Promise<T>): Promise<T> {
    try {
      return await ask(first)
    } catch (error) {
      if (!saysDown(error, 'hotStore')) throw error
      return ask(second)
    }
  }

  /** Succeeds if one has it: both are made again from the record store. */
  async function put(write: (cache: CountCache) => Promise<void>): Promise<void> {
    const [one, other] = await Promise.allSettled([write(first), write(second)])
    if (one.status === 'rejected' && (!saysDown(one.reason, 'hotStore') || other.status === 'rejected')) throw one.reason
  }

  return {
    getCountsMany: (subjects) => read((cache) => cache.getCountsMany(subjects)),
    putCounts: (counted) => put((cache) => cache.putCounts(counted)),
    getLikers: (subject) => read((cache) => cache.getLikers(subject)),
    putLikers: (subject, likers) => put((cache) => cache.putLikers(subject, likers)),
    getOwnerSums: (owners) => read((cache) => cache.getOwnerSums(owners)),
    putOwnerSums: (sums) => put((cache) => cache.putOwnerSums(sums)),
    followCounts: (subjects, listener, onGap) => read((cache) => cache.followCounts(subjects, listener, onGap)),
    async forgetCounts(business, limit) {
      const [one, other] = await Promise.all([first.forgetCounts(business, limit), second.forgetCounts(business, limit)])
      return one + other
    },
    async countKept(business) {
      const [one, other] = await Promise.all([first.countKept(business), second.countKept(business)])
      return one + other
    },
    check: () => read((cache) => cache.check()),
    async close() {
      await Promise.all([first.close(), second.close()])
    },
  }
}
