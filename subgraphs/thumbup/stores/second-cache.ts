/**
 * A count cache with a second server behind it, for when the first does not answer: everything is put into both, and read
 * from the second only while the first is down. A breaker knows that it is, so nobody waits for it.
 *
 * A put succeeds when the first has it. While that is down puts fail, though the second takes them: whoever must know that
 * a value is there (the outbox of the persist step) then puts it again, and the first, which comes back with what it had,
 * gets what it missed. The second may miss what was put while it was down itself, and be behind until the reconciler comes
 * by (`others` of the port): it is a rung of the ladder, and the alternative is to ask the record store for everything.
 */
import { makeBreaker } from '../../../core/outage/breaker.ts'
import type { Clock } from '../../../core/clock.ts'
import { saysDown } from '../../../core/outage/degraded.ts'
import type { CountCache } from './count-cache.ts'

/** Milliseconds between two questions to a first server that is down. */
const CHECK_EVERY_MS = 500

export function withSecondCache(clock: Clock, first: CountCache, second: CountCache): CountCache {
  // That it opens is told by the service's own breakers, of the hot store that is mostly the same server.
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
    /** One of them will do. */
    check: () => read((cache) => cache.check()),
    async close() {
      breaker.stop()
      await Promise.all([first.close(), second.close()])
    },
  }
}
