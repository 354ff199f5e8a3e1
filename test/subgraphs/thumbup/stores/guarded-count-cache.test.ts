import { expect, test } from 'vitest'
import { systemClock } from '../../../../core/clock.ts'
import { guardMarkStores } from '../../../../subgraphs/thumbup/stores/guarded.ts'
import { withSecondCache } from '../../../../subgraphs/thumbup/stores/second-cache.ts'
import { openMarkedStores } from '../marked-stores.ts'
test('while the first cache is down, a put accepted by the second does not switch the second off', async () => {
  const [one, other] = [openMarkedStores(), openMarkedStores()]
  const cache = withSecondCache(systemClock, one.stores.cache, other.stores.cache)
  const guarded = guardMarkStores(systemClock, { ...one.stores, cache }, {}, () => undefined)
  one.set('cache', 'down')
  const a = { business: 1, oid: 'a', counts: { likes: 1, dislikes: 0, version: 1 } }
  await guarded.cache.putCounts([a]).catch(() => undefined)
  const found = await guarded.cache.getCountsMany([a]).catch((error: unknown) => String(error))
  const open = guarded.breakers.countCache.isOpen()
  guarded.stop()
  await cache.close().catch(() => undefined)
  await Promise.all([one.close(), other.close()])
  expect([found, open]).toMatchObject([[{ likes: 1 }], false])
})
