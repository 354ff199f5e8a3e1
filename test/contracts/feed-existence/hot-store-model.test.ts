/** The model of the seen store fulfils the contract itself, so that a comparison with it is a comparison with the port. */
import { makeSeenState, makeSeenStoreModel } from '../../../harness/models/feed-existence/hot-store-model.ts'
import { seenStoreContract } from './hot-store.ts'

const shape = { slots: 6, shards: 64 }

seenStoreContract('the model', shape, async () => {
  const regions = 16
  const state = makeSeenState()
  const store = makeSeenStoreModel(regions, shape, state)
  return {
    store,
    regions,
    another: async (other = shape) => makeSeenStoreModel(regions, other, state),
    reopen: async () => store,
    dispose: async () => {},
  }
})
