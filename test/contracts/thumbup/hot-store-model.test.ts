/** The model of the mark store keeps the contract itself, so that what is compared with it is compared with the port. */
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
