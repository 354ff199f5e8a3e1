import { openLmdbFeedStore } from '../../../../../subgraphs/feed/stores/lmdb/hot-store.ts'
import { feedStoreContract } from '../../../../contracts/feed/hot-store.ts'
import { openContractStore } from '../../../history/stores/lmdb/contract-store.ts'

feedStoreContract('lmdb', () => openContractStore(100, openLmdbFeedStore))
