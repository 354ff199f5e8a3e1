import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { refreshCaches } from '../../../cli/metrics/count-feeds.ts'
import {
  openMarkedStores,
  serveThumbup,
  thumbupConfig,
  type MarkedStores,
  type ServedThumbup,
} from '../../subgraphs/thumbup/marked-stores.ts'

const TENANT = 2

describe('a database of several businesses, one of them with its own cache', () => {
  let common: MarkedStores
  let own: MarkedStores
  let served: ServedThumbup
  let left: number[]
  beforeEach(() => {
    common = openMarkedStores()
    own = openMarkedStores()
    served = serveThumbup(common, thumbupConfig(), { tenants: new Map([[TENANT, own.stores]]) })
    left = []
  })
  afterEach(async () => {
    await served.stop()
    await Promise.all([common.close(), own.close()])
  })

  const count = (business: number) => ({ business, oid: 'a', counts: { likes: 3, dislikes: 0, version: 3 } })
  const sum = (business: number) => ({ business, owner: 'o', likes: 3, version: 3 })
  const changes = { counts: [count(TENANT), count(1)], owners: [sum(TENANT), sum(1)] }
  const refresh = (tenant?: string) =>
    refreshCaches(
      { marks: common.stores, tenants: new Map([[TENANT, own.stores]]) },
      served.subgraph,
      changes,
      tenant,
      (business) => void left.push(business),
    )
  const cached = async (stores: MarkedStores, business: number) => [
    (await stores.plain.cache.getCountsMany([{ business, oid: 'a' }]))[0]?.likes,
    (await stores.plain.cache.getOwnerSums([{ business, owner: 'o' }]))[0]?.likes,
  ]

  test('changes go into the cache of their business', async () => {
    await refresh()
    expect([await cached(common, 1), await cached(own, TENANT)]).toEqual([
      [3, 3],
      [3, 3],
    ])
    expect([await cached(common, TENANT), await cached(own, 1)]).toEqual([
      [undefined, undefined],
      [undefined, undefined],
    ])
  })

  test('a failed cache of one business does not delay the changes of the others, and is reported', async () => {
    own.set('cache', 'down')
    await refresh()
    expect(await cached(common, 1)).toEqual([3, 3])
    expect(left).toEqual([TENANT])
  })

  test('while the common cache or the cache of a separate feed is down, changes are kept for later', async () => {
    common.set('cache', 'down')
    await expect(refresh()).rejects.toMatchObject({ code: 'HOT_STORE_UNAVAILABLE' })
    expect(await cached(own, TENANT)).toEqual([3, 3])
    common.set('cache', 'up')
    own.set('cache', 'down')
    await expect(refresh('article')).rejects.toMatchObject({ code: 'HOT_STORE_UNAVAILABLE' })
    expect(left).toEqual([])
  })
})
