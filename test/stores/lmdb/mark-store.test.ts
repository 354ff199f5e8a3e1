import { openEnvironment } from '../../../stores/lmdb/environment.ts'
import { openLmdbMarkStore } from '../../../stores/lmdb/mark-store.ts'
import type { MarkStore } from '../../../stores/mark-store.ts'
import { markStoreContract } from '../../contracts/mark-store.ts'
import { makeFolder } from './folders.ts'

markStoreContract('lmdb', async () => {
  const folder = makeFolder()
  const regions = 100
  const open = (): MarkStore => {
    const environment = openEnvironment(folder.path, { regions, sizeMaxGb: 1 })
    const store = openLmdbMarkStore(environment)
    return {
      ...store,
      async close() {
        await store.close()
        await environment.close()
      },
    }
  }
  let store = open()
  return {
    store,
    regions,
    another: async () => open(),
    async reopen() {
      await store.close()
      store = open()
      return store
    },
    async dispose() {
      await store.close()
      folder.remove()
    },
  }
})
