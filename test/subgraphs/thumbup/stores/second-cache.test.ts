/** The count cache with a second one behind it, on the embedded cache. Either of them can be switched off. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { systemClock } from '../../../../core/clock.ts'
import { TidemarkError } from '../../../../core/errors.ts'
import type { CountCache } from '../../../../subgraphs/thumbup/stores/count-cache.ts'
import { openEnvironment } from '../../../../stores/lmdb/environment.ts'
import { openLmdbCountCache } from '../../../../subgraphs/thumbup/stores/lmdb/count-cache.ts'
import { withSecondCache } from '../../../../subgraphs/thumbup/stores/second-cache.ts'
import { makeDataFolder, type Folder } from '../../switched-stores.ts'
import { until } from '../../../../harness/until.ts'

const SUBJECT = { business: 1, oid: '1' }
const counted = (likes: number, version: number) => [{ ...SUBJECT, counts: { likes, dislikes: 0, version } }]

function switched(cache: CountCache) {
  const state = { isDown: false, calls: 0 }
  const through =
    <A extends unknown[], R>(call: (...args: A) => Promise<R>) =>
    async (...args: A): Promise<R> => {
      state.calls++
      if (state.isDown) throw new TidemarkError('HOT_STORE_UNAVAILABLE', 'this cache is switched off')
      return call(...args)
    }
  const wrapped: CountCache = {
    ...cache,
    getCountsMany: through(cache.getCountsMany),
    putCounts: through(cache.putCounts),
    check: through(cache.check),
  }
  return { state, cache: wrapped }
}

describe('a count cache with a second one', () => {
  let folders: Folder[]
  let first: ReturnType<typeof switched>
  let second: ReturnType<typeof switched>
  let cache: CountCache
  beforeEach(() => {
    folders = [makeDataFolder(), makeDataFolder()]
    ;[first, second] = folders.map(({ path }) => switched(openLmdbCountCache(openEnvironment(path, { regions: 4, sizeMaxGb: 1 })))) as [
      ReturnType<typeof switched>,
      ReturnType<typeof switched>,
    ]
    cache = withSecondCache(systemClock, first.cache, second.cache)
  })
  afterEach(async () => {
    await cache.close()
    for (const folder of folders) folder.remove()
  })
  const likes = async () => (await cache.getCountsMany([SUBJECT]))[0]?.likes

  it('answers from the second while the first is down, and does not ask the first on each call', async () => {
    await cache.putCounts(counted(1, 1))
    first.state.isDown = true
    expect(await likes()).toBe(1)
    const { calls } = first.state
    for (let call = 0; call < 20; call++) expect(await likes()).toBe(1)
    expect(first.state.calls - calls).toBeLessThanOrEqual(1)
  })

  it('fails a put that the first has not stored, so that a repetition updates the first', async () => {
    await cache.putCounts(counted(1, 1))
    first.state.isDown = true
    await expect(cache.putCounts(counted(2, 2))).rejects.toMatchObject({ code: 'HOT_STORE_UNAVAILABLE' })
    expect(await likes()).toBe(2)
    first.state.isDown = false
    await until('the first is back', async () => (await likes()) === 1)
    await cache.putCounts(counted(2, 2))
    expect(await likes()).toBe(2)
  })

  it('accepts a put that the second has not stored, and names the second as possibly stale', async () => {
    second.state.isDown = true
    await cache.putCounts(counted(3, 3))
    expect(await likes()).toBe(3)
    second.state.isDown = false
    expect(await cache.others?.[0]?.getCountsMany([SUBJECT])).toEqual([undefined])
    await cache.others?.[0]?.putCounts(counted(3, 3))
    first.state.isDown = true
    expect(await likes()).toBe(3)
  })

  it('fails when both are down', async () => {
    first.state.isDown = second.state.isDown = true
    await expect(cache.getCountsMany([SUBJECT])).rejects.toMatchObject({ code: 'HOT_STORE_UNAVAILABLE' })
    await expect(cache.check()).rejects.toMatchObject({ code: 'HOT_STORE_UNAVAILABLE' })
  })
})
