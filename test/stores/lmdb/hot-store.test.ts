import type { ProgressChange } from '../../../core/domain.ts'
import type { HotStore } from '../../../stores/hot-store.ts'
import { openEnvironment } from '../../../stores/lmdb/environment.ts'
import { openLmdbHotStore } from '../../../stores/lmdb/hot-store.ts'
import { hotStoreContract } from '../../contracts/hot-store.ts'
import { makeFolder } from './folders.ts'
import { makeRelayHub } from './relay-hub.ts'

hotStoreContract('lmdb', async () => {
  const folder = makeFolder()
  const regions = 100
  const joinRelay = makeRelayHub<ProgressChange>()
  const open = (): HotStore => {
    const environment = openEnvironment(folder.path, { regions, sizeMaxGb: 1 })
    const store = openLmdbHotStore(environment, { relay: joinRelay() })
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
