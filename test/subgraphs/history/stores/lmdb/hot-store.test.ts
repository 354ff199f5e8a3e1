import type { ProgressChange } from '../../../../../core/domain.ts'
import { openLmdbHotStore } from '../../../../../subgraphs/history/stores/lmdb/hot-store.ts'
import { hotStoreContract } from '../../../../contracts/history/hot-store.ts'
import { openContractStore } from './contract-store.ts'
import { makeRelayHub } from '../../../../stores/lmdb/relay-hub.ts'

hotStoreContract('lmdb', () => {
  const joinRelay = makeRelayHub<ProgressChange>()
  return openContractStore(100, (environment) => openLmdbHotStore(environment, { relay: joinRelay() }))
})
