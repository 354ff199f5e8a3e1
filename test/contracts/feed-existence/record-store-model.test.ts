import { damageModel, makeSeenRecordsState, openModelSeenRecords } from '../../../harness/models/feed-existence/record-store-model.ts'
import { seenRecordsContract } from './record-store.ts'

seenRecordsContract('the model', () => {
  const state = makeSeenRecordsState()
  return Promise.resolve({
    store: openModelSeenRecords(state),
    second: openModelSeenRecords(state),
    reopen: () => Promise.resolve(openModelSeenRecords(state)),
    damage: (key, bytes) => Promise.resolve(damageModel(state, key, bytes)),
    dispose: () => Promise.resolve(),
  })
})
