/** The model of the count cache fulfils the contract of the port. */
import { countCacheContract } from '../../contracts/thumbup/count-cache.ts'
import { openGate } from '../../../harness/simulation/gate.ts'
import { makeCountCacheState, openModelCountCache } from '../../../harness/simulation/thumbup/model-count-cache.ts'

countCacheContract('model', () => {
  const state = makeCountCacheState()
  const another = () => Promise.resolve(openModelCountCache(state, openGate))
  return Promise.resolve({ cache: openModelCountCache(state, openGate), another, dispose: () => Promise.resolve() })
})
