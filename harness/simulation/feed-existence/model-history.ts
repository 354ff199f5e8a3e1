/** The part of history's record store from which filters are rebuilt: the newest visit of each subject. */
import type { ProgressRecord } from '../../../core/domain.ts'
import { comparePlaces } from '../../../subgraphs/history/model/places.ts'
import type { RecordStore } from '../../../subgraphs/history/stores/record-store.ts'
import { atOnce, type Gate } from '../gate.ts'
import type { SeenChecker } from './checker.ts'

const VISIT: Omit<ProgressRecord, 'viewedAt'> = {
  ...{ since: 0, rank: 1, version: 1, position: 1, duration: 2, device: '', finished: true, deleted: false },
}

/** Has every recorded play. Callers use no other method of the port. */
export function openSimulatedHistory(landings: SeenChecker['landings'], gate: Gate): RecordStore {
  const history: Pick<RecordStore, 'listProgress'> = {
    listProgress: (viewer, businesses, before, limit) =>
      atOnce(gate, 'records', 'listProgress', [{ viewer }, before], () =>
        [...landings]
          .flatMap(([key, known]) => {
            const [whose, subject = ''] = key.split(' ')
            const [business = '', oid = ''] = subject.split(':')
            if (whose !== viewer || !businesses.includes(Number(business))) return []
            const viewedAt = Math.max(...known.map(({ playedAt }) => playedAt))
            return [{ business: Number(business), oid, record: { ...VISIT, viewedAt } }]
          })
          .filter(
            ({ business, oid, record }) => before === undefined || comparePlaces({ viewedAt: record.viewedAt, business, oid }, before) > 0,
          )
          .toSorted((a, b) => comparePlaces({ ...a, viewedAt: a.record.viewedAt }, { ...b, viewedAt: b.record.viewedAt }))
          .slice(0, limit),
      ),
  }
  return history as RecordStore
}
