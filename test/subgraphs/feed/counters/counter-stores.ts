/** Counters on real embedded stores. Each store can be switched off, and calls are counted. */
import type { FlushedKey } from '../../../../core/domain.ts'
import { TidemarkError } from '../../../../core/errors.ts'
import { PartOutage } from '../../../../core/outage/part-outage.ts'
import { makeSteppedClock } from '../../../../harness/stepped-clock.ts'
import { openEnvironment } from '../../../../stores/lmdb/environment.ts'
import { makeCounterService } from '../../../../subgraphs/feed/counters/service.ts'
import { openLmdbCounterRecords } from '../../../../subgraphs/feed/stores/lmdb/counters/counter-records.ts'
import { openLmdbCounterStore } from '../../../../subgraphs/feed/stores/lmdb/counters/counter-store.ts'
import { COUNTER_REGIONS, SCHEMAS } from '../../../contracts/feed/counter-samples.ts'
import { makeFolder } from '../../../stores/lmdb/folders.ts'

export type OpenCounters = ReturnType<typeof openCounters>

export function openCounters({ fillsReads = true } = {}) {
  const folder = makeFolder()
  const environment = openEnvironment(folder.path, { regions: COUNTER_REGIONS, sizeMaxGb: 1 })
  /** `part`: the hot store fails for this id alone. */
  const down: { hot: boolean; records: boolean; part: string | undefined } = { hot: false, records: false, part: undefined }
  const calls: string[] = []
  const aggregated: FlushedKey[] = []
  const errors: unknown[] = []

  function switched<T extends object>(store: T, failure: () => TidemarkError | undefined): T {
    return new Proxy(store, {
      get(target, name) {
        const value = Reflect.get(target, name) as unknown
        if (typeof value !== 'function') return value
        return (...args: unknown[]) => {
          calls.push(String(name))
          const error = failure()
          const isAffected = !(error instanceof PartOutage) || JSON.stringify(args).includes(down.part ?? '')
          return error !== undefined && isAffected ? Promise.reject(error) : (value as (...all: unknown[]) => unknown).apply(target, args)
        }
      },
    })
  }

  const hot = switched(openLmdbCounterStore(environment, SCHEMAS), () => {
    const failure = new TidemarkError('HOT_STORE_UNAVAILABLE', 'switched off')
    if (down.part !== undefined) return new PartOutage(failure, (viewer) => viewer === down.part)
    return down.hot ? failure : undefined
  })
  const records = switched(openLmdbCounterRecords(environment), () =>
    down.records ? new TidemarkError('RECORD_STORE_UNAVAILABLE', 'switched off') : undefined,
  )
  const options = { fillsReads, aggregate: (key: FlushedKey) => void aggregated.push(key) }
  const clock = makeSteppedClock()
  const service = makeCounterService(clock, { hot, records }, SCHEMAS, options, (error) => errors.push(error))
  return {
    stores: { hot, records },
    service,
    clock,
    down,
    calls,
    aggregated,
    errors,
    async close() {
      await service.settled()
      await environment.close()
      folder.remove()
    },
  }
}
