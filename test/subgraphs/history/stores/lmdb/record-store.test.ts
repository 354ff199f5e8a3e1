import type { RecordStore } from '../../../../../subgraphs/history/stores/record-store.ts'
import { openEnvironment } from '../../../../../stores/lmdb/environment.ts'
import { openLmdbRecordStore } from '../../../../../subgraphs/history/stores/lmdb/record-store.ts'
import { recordStoreContract } from '../../../../contracts/history/record-store.ts'
import { makeFolder } from '../../../../stores/lmdb/folders.ts'

recordStoreContract('lmdb', async () => {
  const folder = makeFolder()
  const open = (): RecordStore => {
    const environment = openEnvironment(folder.path, { regions: 100, sizeMaxGb: 1 })
    return { ...openLmdbRecordStore(environment), close: () => environment.close() }
  }
  let store = open()
  return {
    store,
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
