import { describe, expect, it } from 'vitest'
import { openEnvironment } from '../../../../../stores/lmdb/environment.ts'
import { openLmdbMarkStore } from '../../../../../subgraphs/thumbup/stores/lmdb/hot-store.ts'
import type { MarkWrite } from '../../../../../subgraphs/thumbup/stores/hot-store.ts'
import { markStoreContract } from '../../../../contracts/thumbup/hot-store.ts'
import { markOf, persist, purgeAll } from '../../../../contracts/thumbup/marks.ts'
import { openContractStore } from '../../../history/stores/lmdb/contract-store.ts'
import { makeFolder } from '../../../../stores/lmdb/folders.ts'

markStoreContract('lmdb', () => openContractStore(100, openLmdbMarkStore))

describe('the mark store on LMDB', () => {
  it('a full store refuses marks with a code, and its content is still read, persisted and purged', async () => {
    const folder = makeFolder()
    const environment = openEnvironment(folder.path, { regions: 100, sizeMaxGb: 0.003 })
    const store = openLmdbMarkStore(environment)
    try {
      const marks: MarkWrite[] = []
      let at = 1_700_000_000_000
      await expect(async () => {
        for (; marks.length < 1_000_000; at++) {
          const writes = Array.from({ length: 500 }, (_, oid) =>
            markOf(String(at), String(oid), oid % 2 === 0 ? 'LIKE' : 'NONE', at, { blind: true }),
          )
          await store.putMarks(writes, { now: at, cap: 1_000 })
          marks.push(...writes)
          // The room is measured every 50 ms.
          await new Promise((resolve) => setTimeout(resolve, 10))
        }
      }).rejects.toMatchObject({ code: 'STORE_FULL' })
      expect(await store.countDirtyMarks()).toBe(marks.length)
      await persist(store, marks, 1_000)
      expect(await store.countDirtyMarks()).toBe(0)
      expect(await purgeAll(store, [...Array(100).keys()], at)).toBe(marks.length / 2)
      expect((await store.getMarkMany(marks)).map(({ mark }) => mark)).toEqual(marks.map(({ mark }) => mark))
    } finally {
      await environment.close()
      folder.remove()
    }
  })

  it('calls after the files were closed fail with a code, and do not hang', async () => {
    const folder = makeFolder()
    const environment = openEnvironment(folder.path, { regions: 100, sizeMaxGb: 1 })
    const store = openLmdbMarkStore(environment)
    await environment.close()
    folder.remove()
    const key = { viewer: '1', business: 1, oid: '1' }
    for (const call of [
      () => store.putMarks([markOf('1', '1', 'LIKE', 1)], { now: 1, cap: 1 }),
      () => store.getMarkMany([key]),
      () => store.clearDirtyMarks([{ key, version: 1, record: { mark: 'LIKE', markedAt: 1, version: 1 } }], 1),
      () => store.purgeUndone([0], 1, 1),
      () => store.forgetBusiness(1, 1),
      () => store.check(),
    ])
      await expect(call()).rejects.toMatchObject({ code: 'HOT_STORE_UNAVAILABLE' })
  })
})
