import { makeCountersState, openModelCounterRecords, openModelCounterStore } from '../../../harness/models/feed/counter-store-model.ts'
import { openedBy } from '../opened-store.ts'
import { counterRecordsContract } from './counter-records.ts'
import { COUNTER_REGIONS } from './counter-samples.ts'
import { counterStoreContract } from './counter-store.ts'

counterStoreContract('the model', () => {
  const state = makeCountersState()
  return openedBy(
    COUNTER_REGIONS,
    () => openModelCounterStore(state, COUNTER_REGIONS),
    () => undefined,
  )
})

counterRecordsContract('the model', () => {
  const state = new Map()
  return openedBy(
    COUNTER_REGIONS,
    () => openModelCounterRecords(state),
    () => undefined,
  )
})
