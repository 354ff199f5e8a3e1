/** The model of the record store of marks fulfils the contract of the port. */
import { markRecordsContract } from '../contracts/thumbup/record-store.ts'
import { openModelMarkRecords } from '../../harness/models/thumbup/record-store-model.ts'
import { makeMarkRecordsState } from '../../harness/models/thumbup/record-rows.ts'

markRecordsContract('model', () => {
  const state = makeMarkRecordsState()
  const open = () => openModelMarkRecords(state)
  return Promise.resolve({
    store: open(),
    reopen: () => Promise.resolve(open()),
    plant: {
      counts({ business, oid }, wrong) {
        const known = state.counts.get(`${business}:${oid}`)
        if (known !== undefined) state.counts.set(`${business}:${oid}`, { ...known, counts: { ...known.counts, ...wrong } })
        return Promise.resolve()
      },
      ownerSum({ business, owner }, likes) {
        const known = state.sums.get(`${business}:${owner}`)
        if (known !== undefined) state.sums.set(`${business}:${owner}`, { ...known, likes })
        return Promise.resolve()
      },
    },
    dispose: () => Promise.resolve(),
  })
})
