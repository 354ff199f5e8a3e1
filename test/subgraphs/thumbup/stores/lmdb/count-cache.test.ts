import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openLmdbCountCache, type LmdbCountCacheOptions } from '../../../../../subgraphs/thumbup/stores/lmdb/count-cache.ts'
import { openEnvironment } from '../../../../../stores/lmdb/environment.ts'
import type { CountCache } from '../../../../../subgraphs/thumbup/stores/count-cache.ts'
import { countCacheContract } from '../../../../contracts/thumbup/count-cache.ts'
import { makeFolder } from '../../../../stores/lmdb/folders.ts'
import { makeRelayHub } from '../../../../stores/lmdb/relay-hub.ts'
import { followCounts } from '../../../../support/follow-counts.ts'
import type { CountedSubject } from '../../../../../core/domain.ts'

function openIn(folder: string, options: LmdbCountCacheOptions = {}): CountCache {
  const environment = openEnvironment(folder, { regions: 100, sizeMaxGb: 1 })
  const cache = openLmdbCountCache(environment, options)
  return {
    ...cache,
    async close() {
      await cache.close()
      await environment.close()
    },
  }
}

countCacheContract('lmdb', async () => {
  const folder = makeFolder()
  const joinRelay = makeRelayHub<CountedSubject>()
  const open = (): CountCache => openIn(folder.path, { relay: joinRelay() })
  const cache = open()
  return {
    cache,
    another: async () => open(),
    async dispose() {
      await cache.close()
      folder.remove()
    },
  }
})

describe('the count cache on LMDB', () => {
  let folder = makeFolder()
  let cache = openIn(folder.path, { uncountedMax: 3 })
  beforeEach(async () => {
    await cache.close()
    folder.remove()
    folder = makeFolder()
    cache = openIn(folder.path, { uncountedMax: 3 })
  })
  afterEach(async () => {
    await cache.close()
    folder.remove()
  })

  it('counts are there after reopening; subjects that were never counted leave nothing on disk', async () => {
    const subjects = ['1', '2'].map((oid) => ({ business: 1, oid }))
    await cache.putCounts(subjects.map((subject, version) => ({ ...subject, counts: { likes: version, dislikes: 0, version } })))
    expect(await cache.getCountsMany(subjects)).toEqual([0, 1].map((version) => ({ likes: version, dislikes: 0, version })))
    await cache.close()
    cache = openIn(folder.path)
    expect(await cache.getCountsMany(subjects)).toEqual([undefined, { likes: 1, dislikes: 0, version: 1 }])
  })

  it('remembers only the latest uncounted subjects, up to the configured number', async () => {
    const subjects = ['1', '2', '3', '4', '5'].map((oid) => ({ business: 1, oid }))
    const zero = { likes: 0, dislikes: 0, version: 0 }
    for (const subject of subjects) await cache.putCounts([{ ...subject, counts: zero }])
    expect(await cache.getCountsMany(subjects)).toEqual([undefined, undefined, zero, zero, zero])
  })

  it('at equal versions the later arrival stays, without a notification', async () => {
    const subject = { business: 1, oid: '1' }
    const told: CountedSubject[] = []
    await followCounts(cache, [subject], (changed) => told.push(changed))
    for (const likes of [1, 2]) await cache.putCounts([{ ...subject, counts: { likes, dislikes: 0, version: 5 } }])
    expect(await cache.getCountsMany([subject])).toEqual([{ likes: 2, dislikes: 0, version: 5 }])
    expect(told).toEqual([{ ...subject, counts: { likes: 1, dislikes: 0, version: 5 } }])
  })

  it('calls after the files were closed fail with a code, and do not hang', async () => {
    const environment = openEnvironment(folder.path, { regions: 100, sizeMaxGb: 1 })
    const closed = openLmdbCountCache(environment)
    await environment.close()
    const subject = { business: 1, oid: '1' }
    await expect(closed.getCountsMany([subject])).rejects.toMatchObject({ code: 'HOT_STORE_UNAVAILABLE' })
    const counted = { ...subject, counts: { likes: 1, dislikes: 0, version: 1 } }
    await expect(closed.putCounts([counted])).rejects.toMatchObject({ code: 'HOT_STORE_UNAVAILABLE' })
  })
})
