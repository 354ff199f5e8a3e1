/** A worker that folds. It fails in given hours: in one, in two, or for a lap of the ring and longer. */
import type { Clock } from '../../core/clock.ts'
import { makeTurns } from '../../core/event-loop-yield.ts'
import type { Config } from '../../config/config.ts'
import { ringOf } from '../../config/feed-existence.ts'
import { TidemarkError } from '../../core/errors.ts'
import { randomBelow, type Random } from '../../core/random.ts'
import { HOUR_MS, beginningOf, monthOf } from '../../subgraphs/feed-existence/model/time-ring.ts'
import type { FilterWrite, SeenRecords } from '../../subgraphs/feed-existence/stores/record-store.ts'
import type { SeenStore } from '../../subgraphs/feed-existence/stores/hot-store.ts'
import { makeFolding, type Folding } from '../../subgraphs/feed-existence/fold/folding.ts'
import { makeExistenceFold, type ExistenceStores } from '../../subgraphs/feed-existence/index.ts'

/** The share of calls that fail in a failing hour. A failure ends the round, so its later calls do not happen. */
const FAILING_SHARE = 0.5
const FAILING_CALLS = new Set(['filledShards', 'listRing', 'getRingLayouts', 'readStaged', 'removeStaged', 'getFilters', 'putFilters'])

/** The failing hours since the epoch: none on most days; on some one, two, or a lap and one more; and the ends of all months. */
export function hoursOfFailure(random: Random, start: number, end: number, slots: number): Set<number> {
  const failing = new Set<number>()
  for (let day = start; day < end; day += 24 * HOUR_MS) {
    const begins = Math.floor(day / HOUR_MS) + randomBelow(random, 24)
    const length = [0, 0, 0, 1, 2, slots + 1][randomBelow(random, 6)] as number
    for (let hour = 0; hour < length; hour++) failing.add(begins + hour)
  }
  for (let month = monthOf(start) + 1; month <= monthOf(end); month++)
    for (let hour = -2; hour < 3; hour++) failing.add(beginningOf(month) / HOUR_MS + hour)
  return failing
}

export type Worker = {
  /** Does all due work, as far as it succeeds. */
  work(): Promise<void>
  restart(): void
  figures(): { runs: number; failures: number; refused: number; closed: number }
}

/** `written`: called for each written filter. */
export function makeWorker(
  clock: Clock,
  stores: ExistenceStores,
  config: Config,
  random: Random,
  failing: ReadonlySet<number>,
  written: (write: FilterWrite) => void,
): Worker {
  let failures = 0
  const done = { runs: 0, refused: 0, closed: 0 }

  function faulty<T extends object>(store: T): T {
    const entries = Object.entries(store).map(([method, call]) => [method, FAILING_CALLS.has(method) ? failingNow(call) : call])
    return Object.fromEntries(entries) as T
  }

  function failingNow<A extends unknown[], R>(call: (...args: A) => Promise<R>): (...args: A) => Promise<R> {
    return async (...args) => {
      const fails = failing.has(Math.floor(clock.now() / HOUR_MS)) && random() < FAILING_SHARE
      // Half of the failed calls were executed, and only their answers are lost.
      if (fails && random() < 0.5) throw lost()
      const answer = await call(...args)
      if (fails) throw lost()
      return answer
    }
  }

  function lost(): TidemarkError {
    failures++
    return new TidemarkError('RECORD_STORE_UNAVAILABLE', 'the simulated call or its answer was lost')
  }

  const counted: SeenRecords = {
    ...stores.records,
    async putFilters(writes) {
      const answers = await stores.records.putFilters(writes)
      answers.forEach((isWritten, place) => isWritten && written(writes[place] as FilterWrite))
      return answers
    },
  }
  const hot: SeenStore = faulty(stores.hot)
  const { fold } = makeExistenceFold(clock, { ...stores, hot, records: faulty(counted) }, config, random)
  const { settleMs, foldKeysMax: keysMax, foldsAtOnce } = config.existence
  const { regions } = config.stores
  const owned = Array.from({ length: regions }, (_, region) => region)
  const options = { shape: ringOf(config), regions, settleMs, keysMax, foldsAtOnce, nextTurn: makeTurns() }
  const start = (): Folding =>
    makeFolding(
      clock,
      hot,
      fold,
      () => owned,
      options,
      () => undefined,
    )
  let folding = start()

  function keepFigures(): void {
    const { runs, refused, closed } = folding.figures()
    done.runs += runs
    done.refused += refused
    done.closed += closed
  }

  return {
    work: () => folding.round().catch(() => undefined),
    restart() {
      keepFigures()
      folding = start()
    },
    figures() {
      const { runs, refused, closed } = folding.figures()
      return { runs: done.runs + runs, failures, refused: done.refused + refused, closed: done.closed + closed }
    },
  }
}
