/**
 * The parts of a process that takes writes, put together: the ports behind their breakers, the journal for when the hot
 * store is down, the aggregator, the way to the log, and the service on top. The subgraph is made of it, and so is a
 * process of the simulator, so that what is simulated is what runs.
 */
import { makeAggregator, type Aggregator, type AggregatorOptions } from '../../../writeback/aggregator.ts'
import type { Businesses } from '../../../config/businesses.ts'
import type { Clock } from '../../../core/clock.ts'
import type { MayLack } from '../../../core/outage/degraded.ts'
import type { FlushedKey } from '../../../core/domain.ts'
import { guardStores, type GuardedStores, type Stores } from '../stores/guarded.ts'
import { persistKeys, type PersistReport } from '../persist/persist.ts'
import { regionOf } from '../../../core/regions.ts'
import type { Journals } from '../../../writeback/journal.ts'
import { makeFlusher, type Flusher, type FlusherOptions } from '../../../writeback/flusher.ts'
import { makeJournaling, type Journaling, type JournalingOptions } from '../../../writeback/journaling.ts'
import { makeReplay } from './replay.ts'
import { makeHistoryService, type HistoryService } from './service.ts'
import { makeDirectWrites, makeJournaledWrites } from './writes.ts'
import { stagingWrites } from './written-plays.ts'
import type { GuardOptions } from '../../../core/outage/guard.ts'
import type { RecordPlays, StageWritten } from '../../../core/written-reports.ts'

/** With journals, writes are accepted while the hot store is down. `recordPlays`, `stageWritten`: steps of feed existence. */
export type HistoryStores = Stores & {
  journals?: Journals | undefined
  recordPlays?: RecordPlays | undefined
  stageWritten?: StageWritten | undefined
}

export type WritePathOptions = {
  regions: number
  timelineCap: number
  /** Rows one purge statement removes at most. */
  purgeRowsMax: number
  aggregator: AggregatorOptions
  flusher: FlusherOptions
  /** `putMaxMs`: milliseconds after which a put of the hot store has arrived or never will. Default 10000. */
  journaling: JournalingOptions & { putMaxMs?: number }
  guard: GuardOptions
}

export type WritePath = {
  /** The stores as the service sees them; the job takes them as they are: it may wait, and retries without limit. */
  guarded: GuardedStores
  aggregator: Aggregator
  flusher: Flusher
  journaling: Journaling | undefined
  service: HistoryService
  /** Does something of this viewer's wait in the journal that the hot store does not have? To be asked before a read. */
  mayLack: MayLack
  /** Persists these keys from store to store, guarded by nothing. */
  persist(keys: readonly FlushedKey[]): Promise<PersistReport>
  /** Applies what is journaled, if the hot store answers, sends everything aggregated to the log and waits until it is there. */
  drain(): Promise<void>
}

/** `onDown` is told when a breaker opens, `onError` of steps in the background that fail. */
export function makeWritePath(
  clock: Clock,
  businesses: Businesses,
  stores: HistoryStores,
  options: WritePathOptions,
  onError: (error: unknown) => void,
  onDown: (error: unknown) => void = onError,
): WritePath {
  const { regions, timelineCap, purgeRowsMax } = options
  const guarded = guardStores(clock, stores, options.guard, onDown)
  const persist = (keys: readonly FlushedKey[]) =>
    persistKeys(stores.hot, stores.records, keys, { timelineCap, purgeRowsMax }, stores.recordPlays)
  const flusher = makeFlusher(guarded.hot, guarded.log, (keys) => persistIfUp(guarded, keys, () => persist(keys)), options.flusher, onError)
  const aggregator = makeAggregator(clock, flusher.flush, options.aggregator)
  const aggregate = (key: FlushedKey): void => aggregator.add(regionOf(key.viewer, regions), key)
  const journaling =
    stores.journals === undefined
      ? undefined
      : startJournaling(clock, guarded, stores.journals, stores.stageWritten, aggregate, flusher, timelineCap, options.journaling, onError)
  const writes = stagingWrites(
    journaling === undefined
      ? makeDirectWrites(guarded.hot, guarded.records, timelineCap)
      : makeJournaledWrites(guarded.hot, guarded.records, journaling, timelineCap),
    stores.stageWritten,
  )
  const service = makeHistoryService(clock, businesses, guarded.hot, guarded.records, aggregator, flusher.reward, options, writes)
  return {
    guarded,
    aggregator,
    flusher,
    journaling,
    service,
    mayLack: writes.mayLack,
    persist,
    async drain() {
      await journaling?.stop()
      aggregator.flushAll()
      await flusher.settled()
      guarded.stop()
    },
  }
}

function startJournaling(
  clock: Clock,
  { hot, records, breakers }: GuardedStores,
  journals: Journals,
  stageWritten: StageWritten | undefined,
  aggregate: (key: FlushedKey) => void,
  flusher: Flusher,
  timelineCap: number,
  { putMaxMs = 10_000, ...options }: WritePathOptions['journaling'],
  onError: (error: unknown) => void,
): Journaling {
  const journaling: Journaling = makeJournaling(
    clock,
    breakers,
    journals,
    (dropped) =>
      makeReplay(hot, records, timelineCap, {
        aggregate,
        stageWritten,
        reward: flusher.reward,
        mayBeUnderWay: (since) => clock.now() - since < putMaxMs,
        withoutBase: (writes, now) =>
          journaling.append({ kind: 'base', now, keys: writes.map(({ viewer, business, oid }) => ({ viewer, business, oid })) }),
        dropped,
      }),
    options,
    onError,
  )
  journaling.start()
  return journaling
}

/** A store that is known to be down is not waited for: the sweeper has the keys anyway. */
async function persistIfUp({ breakers }: GuardedStores, keys: readonly FlushedKey[], persist: () => Promise<unknown>): Promise<void> {
  // The keys of a flush are of one region.
  const isHotDown = keys[0] !== undefined && breakers.hotStore.isOpenFor(keys[0].viewer)
  if (isHotDown || breakers.recordStore.isOpen()) throw new Error('a flush is left to the sweeper: two stores are down')
  await persist()
}
