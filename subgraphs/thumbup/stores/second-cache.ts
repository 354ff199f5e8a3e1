/**
 * A count cache with a second server behind it. Every put goes to both. Reads go to the second only while the first is down, which a
 * breaker knows, so that no caller waits.
 *
 * A put succeeds when the first has it. While the first is down, puts fail although the second accepts them. A caller that needs the value
 * there, the outbox of the persist step, puts it again, and the first gets the missed values when it is back. The second may miss puts
 * during its own outage, and stays behind until the reconciler updates it (`others` of the port). The alternative to a value that is
 * slightly old would be a read of the record store for everything.
 */
import { makeBreaker } from '../../../core/outage/breaker.ts'
import type { Clock } from '../../../core/clock.ts'
import { saysDown } from '../../../core/outage/degraded.ts'
import type { CountCache } from './count-cache.ts'

/** Milliseconds between two probes of a first server that is down. */
const CHECK_EVERY_MS = 500

export function withSecondCache(clock: Clock, first: CountCache, second: CountCache): CountCache {
  // The service's own breakers report the outage: the hot store is mostly on the same server.
  const breaker = makeBreaker(
    clock,
    'hotStore',
    () => first.check(),
    { checkEveryMs: CHECK_EVERY_MS },
    () => undefined,
  )

  async function read<T>(ask: (cache: CountCache) => Promise<T>): Promise<T> {
    try {
      return await breaker.run(() => ask(first))
    } catch (error) {
      if (!saysDown(error, 'hotStore')) throw error
      return ask(second)
    }
  }

  async function put(write: (cache: CountCache) => Promise<void>): Promise<void> {
    const [one] = await Promise.allSettled([breaker.run(() => write(first)), write(second)])
    if (one.status === 'rejected') throw one.reason
  }

  return {
    others: [second],
    getCountsMany: (subjects) => read((cache) => cache.getCountsMany(subjects)),
    putCounts: (counted) => put((cache) => cache.putCounts(counted)),
    getLikers: (subject) => read((cache) => cache.getLikers(subject)),
    putLikers: (subject, likers) => put((cache) => cache.putLikers(subject, likers)),
    getOwnerSums: (owners) => read((cache) => cache.getOwnerSums(owners)),
    putOwnerSums: (sums) => put((cache) => cache.putOwnerSums(sums)),
    // Puts go to both caches, so a listener gets most versions twice, which callers accept. One of the two is enough.
    followCounts(listener, onGap) {
      const both = [first.followCounts(listener, onGap), second.followCounts(listener, onGap)]
      return {
        async add(subjects) {
          const added = both.map((each) => each.add(subjects))
          await Promise.any(added).catch(() => added[0])
        },
        remove: (subjects) => both.forEach((each) => each.remove(subjects)),
        stop: () => both.forEach((each) => each.stop()),
      }
    },
    async forgetCounts(business, limit) {
      const [one, other] = await Promise.all([first.forgetCounts(business, limit), second.forgetCounts(business, limit)])
      return one + other
    },
    async countKept(business) {
      const [one, other] = await Promise.all([first.countKept(business), second.countKept(business)])
      return one + other
    },
    /** Either of the two is enough. */
    check: () => read((cache) => cache.check()),
    async close() {
      breaker.stop()
      await Promise.all([first.close(), second.close()])
    },
  }
}
