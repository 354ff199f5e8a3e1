import { describe, expect, it } from 'vitest'
import { openEnvironment } from '../../../../../stores/lmdb/environment.ts'
import { openLmdbFeedStore } from '../../../../../subgraphs/feed/stores/lmdb/hot-store.ts'
import type { Post } from '../../../../../subgraphs/feed/model/post.ts'
import { feedStoreContract } from '../../../../contracts/feed/hot-store.ts'
import { DAY_MS, clean, draftOf, optionsAt, postOf, publishOne, purgeAll } from '../../../../contracts/feed/posts.ts'
import { later } from '../../../../contracts/reports.ts'
import { openContractStore } from '../../../history/stores/lmdb/contract-store.ts'
import { makeFolder } from '../../../../stores/lmdb/folders.ts'

feedStoreContract('lmdb', () => openContractStore(100, openLmdbFeedStore))

describe("the feed's hot store on LMDB", () => {
  it('a full store refuses posts with a code, and its content is still read, persisted and purged', async () => {
    const folder = makeFolder()
    const environment = openEnvironment(folder.path, { regions: 100, sizeMaxGb: 0.003 })
    const store = openLmdbFeedStore(environment)
    try {
      const posts: Post[] = []
      await expect(async () => {
        while (posts.length < 1_000_000) {
          for (let round = 0; round < 50; round++)
            posts.push(await publishOne(store, draftOf(String(posts.length), { text: 'x'.repeat(2_000) })))
          // The room is measured every 50 ms.
          await new Promise((resolve) => setTimeout(resolve, 10))
        }
      }).rejects.toMatchObject({ code: 'STORE_FULL' })
      const [first] = posts as [Post]
      await expect(store.delete(first, optionsAt())).rejects.toMatchObject({ code: 'STORE_FULL' })
      await expect(store.setWords('1', ['a'], optionsAt())).rejects.toMatchObject({ code: 'STORE_FULL' })
      expect(await postOf(store, first.id)).toEqual(first)
      expect(await store.countDirty()).toBe(posts.length)
      await clean(store, ...posts)
      expect(await store.countDirty()).toBe(0)
      // A noted change of an outbox counts as well.
      expect(await purgeAll(store, 100, later(DAY_MS))).toBe(posts.length * 2)
      expect(await postOf(store, first.id)).toBeUndefined()
    } finally {
      await environment.close()
      folder.remove()
    }
  })

  it('calls after the files were closed fail with a code, and do not hang', async () => {
    const folder = makeFolder()
    const environment = openEnvironment(folder.path, { regions: 100, sizeMaxGb: 1 })
    const store = openLmdbFeedStore(environment)
    await environment.close()
    folder.remove()
    for (const call of [
      () => store.publish(draftOf('1'), optionsAt()),
      () => store.addToInboxes('1', ['1'], optionsAt()),
      () => store.getPostMany(['16384']),
      () => store.listChanges(new Map([[0, 0]])),
      () => store.clearDirty([{ key: { viewer: '1', post: '1' }, version: 1 }]),
      () => store.purgeOld([0], 1, 1),
      () => store.check(),
    ])
      await expect(call()).rejects.toMatchObject({ code: 'HOT_STORE_UNAVAILABLE' })
  })
})
