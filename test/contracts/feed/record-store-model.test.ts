import { makeFeedRecordsState, openModelFeedRecords } from '../../../harness/models/feed/record-store-model.ts'
import { openedBy } from '../opened-store.ts'
import { REGIONS } from './record-posts.ts'
import { feedRecordsContract } from './record-store.ts'

feedRecordsContract('the model', () => {
  const state = makeFeedRecordsState()
  return openedBy(
    REGIONS,
    () => openModelFeedRecords(state),
    () => undefined,
  )
})
