import type { ProgressChange } from '../../../core/domain.ts'
import type { HotStore } from '../../../stores/hot-store.ts'
import type { ChangeRelay } from '../../../stores/lmdb/changes.ts'
import { openEnvironment } from '../../../stores/lmdb/environment.ts'
import { openLmdbHotStore } from '../../../stores/lmdb/hot-store.ts'
import { hotStoreContract } from '../../contracts/hot-store.ts'
import { makeFolder } from './folders.ts'

/** What the workers of a deployment do with process messages, within one process. */
function makeRelayHub(): () => ChangeRelay {
  const members = new Set<(change: ProgressChange) => void>()
  return () => {
    let own: ((change: ProgressChange) => void) | undefined
    return {
      publish(change) {
        for (const member of members) if (member !== own) member(change)
      },
      onChange(listener) {
        own = listener
        members.add(listener)
        return () => members.delete(listener)
      },
    }
  }
}

hotStoreContract('lmdb', async () => {
  const folder = makeFolder()
  const regions = 100
  const joinRelay = makeRelayHub()
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
