import type { ProgressChange } from '../../../core/domain.ts'
import { openLmdbHotStore } from '../../../stores/lmdb/hot-store.ts'
import { hotStoreContract } from '../../contracts/hot-store.ts'
import { openContractStore } from './contract-store.ts'
import { makeRelayHub } from './relay-hub.ts'

hotStoreContract('lmdb', () => {
  const joinRelay = makeRelayHub<ProgressChange>()
  return openContractStore(100, (environment) => openLmdbHotStore(environment, { relay: joinRelay() }))
})
