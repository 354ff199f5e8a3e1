/** The model of the mark store fulfils the contract itself, so that a comparison with it is a comparison with the port. */
import { makeMarkStoreModel } from '../../../harness/models/thumbup/hot-store-model.ts'
import { markStoreContract } from './hot-store.ts'

markStoreContract('the model', async () => {
  const store = makeMarkStoreModel(16)
  return {
    store,
    regions: 16,
    another: async () => store,
    reopen: async () => store,
    dispose: async () => {},
  }
})
