/** The model of the feed's hot store fulfils the contract itself, so that a comparison with it is a comparison with the port. */
import { makeFeedStoreModel } from '../../../harness/models/feed/hot-store-model.ts'
import { feedStoreContract } from './hot-store.ts'

feedStoreContract('the model', async () => {
  const store = makeFeedStoreModel(16)
  return {
    store,
    regions: 16,
    another: async () => store,
    reopen: async () => store,
    dispose: async () => {},
  }
})
