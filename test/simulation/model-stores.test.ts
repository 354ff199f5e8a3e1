/** The model stores fulfil the contracts of the ports, so that a simulation with them is valid for every correct store. */
import { systemClock } from '../../core/clock.ts'
import { hotStoreContract } from '../contracts/history/hot-store.ts'
import { logContract } from '../contracts/log.ts'
import { recordStoreContract } from '../contracts/history/record-store.ts'
import { openGate } from '../../harness/simulation/gate.ts'
import { makeHotState } from '../../harness/simulation/history/model-hot-state.ts'
import { CLEARINGS } from '../../harness/simulation/history/model-timelines.ts'
import { openModelHotStore } from '../../harness/simulation/history/model-hot-store.ts'
import { makeLogState, openModelLog } from '../../harness/simulation/model-log.ts'
import { makeRecordState, openModelRecordStore } from '../../harness/simulation/history/model-record-store.ts'

const regions = 8
const dispose = (): Promise<void> => Promise.resolve()

for (const clearing of CLEARINGS) {
  hotStoreContract(`model, where clearing ${clearing}`, () => {
    const state = makeHotState({ regions, clearing, faults: {} })
    const another = () => Promise.resolve(openModelHotStore(state, openGate))
    return Promise.resolve({ store: openModelHotStore(state, openGate), regions, another, reopen: another, dispose })
  })
}

logContract('model', () => {
  const state = makeLogState({ regions, partitions: 3, batchMax: 5, retryMs: 20, faults: {} })
  const open = () => openModelLog(state, openGate, systemClock)
  return Promise.resolve({
    log: open(),
    regions,
    reopen: () => Promise.resolve(open()),
    appendUndecodable: (region) => Promise.resolve(state.appendUnreadable(region)),
    readRewards: () => Promise.resolve(state.rewards),
    dispose,
  })
})

recordStoreContract('model', () => {
  const state = makeRecordState()
  const open = () => openModelRecordStore(state, openGate)
  return Promise.resolve({ store: open(), reopen: () => Promise.resolve(open()), dispose })
})
