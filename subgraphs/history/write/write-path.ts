/**
 * The parts of a process that takes writes: the ports behind their breakers, the journal for outages of the hot store, the aggregator, the
 * way to the log, and the service on top. Both the subgraph and a process of the simulator use it, so the simulation runs the real code.
 */
import type { AggregatorOptions } from '../../../writeback/aggregator.ts'
import type { Businesses } from '../../../config/businesses.ts'
import type { Clock } from '../../../core/clock.ts'
import type { MayLack } from '../../../core/outage/degraded.ts'
import type { FlushedKey } from '../../../core/domain.ts'
import { guardStores, type GuardedStores, type Stores } from '../stores/guarded.ts'
import { persistKeys, type PersistReport } from '../persist/persist.ts'
import type { ProgressEvent, ProgressEvents, PublishProgress } from '../stores/progress-events.ts'
import type { Journals } from '../../../writeback/journal.ts'
import type { FlusherOptions } from '../../../writeback/flusher.ts'
import type { JournalingOptions } from '../../../writeback/journaling.ts'
import { makeWriteBack, type WriteBack } from '../../../writeback/write-back.ts'
import { baseEntries } from './journaled-changes.ts'
import { startHistoryQuotas, type HistoryQuotas } from './quotas.ts'
import { makeReplay } from './replay.ts'
import { makeHistoryService, type HistoryService } from './service.ts'
import { makeHistoryWrites } from './writes.ts'
import type { RewardRules } from '../../../core/rewards.ts'
import type { GuardOptions } from '../../../core/outage/guard.ts'
import type { RecordPlays, StageWritten } from '../../../core/written-reports.ts'

/**
 * With journals, writes are accepted while the hot store is down. With `progressEvents`, persisted progress goes to the topic of analytics.
 * `recordPlays`, `stageWritten`: steps of feed existence.
 */
export type HistoryStores = Stores & {
  journals?: Journals | undefined
  progressEvents?: ProgressEvents | undefined
  recordPlays?: RecordPlays | undefined
  stageWritten?: StageWritten | undefined
}

export type WritePathOptions = {
  regions: number
  timelineCap: number
  rules: RewardRules
  /** Maximum rows per purge statement. */
  purgeRowsMax: number
  aggregator: AggregatorOptions
  flusher: FlusherOptions
  /** `putMaxMs`: milliseconds after which a put of the hot store has arrived or never will. Default 10000. */
  journaling: JournalingOptions & { putMaxMs?: number }
  guard: GuardOptions
}

export type WritePath = {
  /** The stores of the service. The job uses them without breakers: it may wait, and retries without limit. */
  guarded: GuardedStores
  writeBack: WriteBack
  service: HistoryService
  quotas: HistoryQuotas
  /** True if the journal has writes of this viewer that the hot store lacks. To be called before a read. */
  mayLack: MayLack
  /** Persists these keys from store to store, without breakers. */
  persist(keys: readonly FlushedKey[]): Promise<PersistReport>
  /** Events of progress that were not sent, because the log was down. */
  unsentEvents(): number
  /** Applies the journal if the hot store answers, sends all aggregated keys to the log, and waits for them to arrive. */
  drain(): Promise<void>
}

const UNSENT_PAUSE_MS = 5_000

/** `onDown` is called when a breaker opens, `onError` for background steps that fail. */
export function makeWritePath(
  clock: Clock,
  businesses: Businesses,
  stores: HistoryStores,
  options: WritePathOptions,
  onError: (error: unknown) => void,
  onDown: (error: unknown) => void = onError,
): WritePath {
  const { timelineCap, purgeRowsMax, rules } = options
  const { putMaxMs = 10_000 } = options.journaling
  const guarded = guardStores(clock, stores, options.guard, onDown)
  const { hot, log, records, breakers } = guarded
  let unsent = 0
  let unsentAt = Number.NEGATIVE_INFINITY
  async function publish(events: readonly ProgressEvent[]): Promise<void> {
    // A log that is down delays one step in this time, and not every step of a job.
    if (clock.now() - unsentAt < UNSENT_PAUSE_MS) {
      unsent += events.length
      return
    }
    try {
      await stores.progressEvents?.append(events)
    } catch (error) {
      unsent += events.length
      unsentAt = clock.now()
      onError(error)
    }
  }
  const persistWith = (publish: PublishProgress | undefined) => (keys: readonly FlushedKey[]) =>
    persistKeys({ ...stores, publish }, keys, { timelineCap, purgeRowsMax, rules }, onError)
  const writeBack = makeWriteBack(
    clock,
    { log, rewards: hot, breakers, journals: stores.journals },
    {
      // Only while the log is down.
      persist: persistWith(stores.progressEvents && (async ({ length }) => void (unsent += length))),
      makeReplay: ({ aggregate, flusher, journaling }, dropped) =>
        makeReplay(hot, records, timelineCap, {
          aggregate,
          stageWritten: stores.stageWritten,
          reward: flusher.reward,
          mayBeUnderWay: (since) => clock.now() - since < putMaxMs,
          withoutBase: async (writes, now) => journaling?.append(baseEntries(writes, now)),
          dropped,
        }),
    },
    options,
    onError,
  )
  const { aggregator, flusher, journaling } = writeBack
  const writes = makeHistoryWrites(hot, records, timelineCap, businesses, journaling)
  const quotas = startHistoryQuotas(clock, businesses, hot, records, writes.mayLack, onError)
  const { reward } = flusher
  return {
    guarded,
    writeBack,
    service: makeHistoryService(clock, businesses, hot, records, aggregator, reward, options, writes, stores.stageWritten, quotas),
    quotas,
    mayLack: writes.mayLack,
    persist: persistWith(stores.progressEvents && publish),
    unsentEvents: () => unsent,
    async drain() {
      await quotas.stop()
      await writeBack.drain()
      guarded.stop()
    },
  }
}
