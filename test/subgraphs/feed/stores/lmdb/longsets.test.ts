import { systemClock } from '../../../../../core/clock.ts'
import { openLmdbLongsets } from '../../../../../subgraphs/feed/stores/lmdb/longsets.ts'
import { longsetStoreContract } from '../../../../contracts/feed/longset-store.ts'
import { openContractStore } from '../../../history/stores/lmdb/contract-store.ts'

longsetStoreContract('lmdb', () => openContractStore(100, (environment) => openLmdbLongsets(environment, systemClock)))
