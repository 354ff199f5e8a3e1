/**
 * The write-back of one set of stores: the aggregator collects the changed keys, the flusher sends them to the log, and the journal keeps
 * writes while the hot store is down. Each capability makes its own with its persist step and its replay; a process of the simulator has
 * the same parts.
 *
 * Flushes that the log does not accept are persisted directly, unless a store is known to be down: the sweeper has the keys anyway.
 */
import type { Clock } from '../core/clock.ts'
import type { FlushedKey } from '../core/domain.ts'
import type { Breaker } from '../core/outage/breaker.ts'
import type { PartBreaker } from '../core/outage/part-breaker.ts'
import { regionOf } from '../core/regions.ts'
import { makeAggregator, type Aggregator, type AggregatorFigures, type AggregatorOptions } from './aggregator.ts'
import { makeFlusher, type Flusher, type FlusherFigures, type FlusherOptions } from './flusher.ts'
import type { Replay } from './journal-run.ts'
import type { Journals } from './journal.ts'
import {
  makeJournaling,
  NO_JOURNAL,
  type JournalFigures,
  type Journaling,
  type JournalingBreakers,
  type JournalingOptions,
} from './journaling.ts'
import type { Log } from './log.ts'
import type { PendingRewards } from './rewards.ts'

export type WriteBackStores = {
  /** Behind its breaker. */
  log: Pick<Log, 'appendFlushes' | 'appendRewards'>
  /** Absent: the capability has no rewards. */
  rewards?: Pick<PendingRewards, 'confirmRewards'>
  breakers: { hotStore: PartBreaker; recordStore: Breaker }
  /** Absent: writes fail while the hot store is down. */
  journals: Journals | undefined
  /** The hot store for the journal. Default: its breaker. */
  journaledFor?: JournalingBreakers['hotStore']
}

export type WriteBackSteps = {
  /** Persists these keys from store to store. */
  persist(keys: readonly FlushedKey[]): Promise<unknown>
  /** Of the journals. Absent without them. */
  makeReplay?(writeBack: WriteBack, dropped: (count: number) => void): Replay
  /** Ends the writes of the capability that are under way, before the last flush. */
  settle?(): Promise<void>
}

export type WriteBackOptions = {
  regions: number
  aggregator: AggregatorOptions
  flusher: FlusherOptions
  journaling: JournalingOptions
}

export type WriteBack = {
  aggregator: Aggregator
  flusher: Flusher
  journaling: Journaling | undefined
  /** The hot store has this key's change: it may be flushed. */
  aggregate(key: FlushedKey): void
  /** Applies the journaled writes if the hot store answers. Nothing is replayed after it resolves. */
  stopReplay(): Promise<void>
  /** The same; then sends all aggregated keys to the log and waits for them to arrive. */
  drain(): Promise<void>
  figures(): WriteBackFigures
}

export type WriteBackFigures = { aggregator: AggregatorFigures; flushes: FlusherFigures; journal: JournalFigures }

const NO_REWARDS = { confirmRewards: () => Promise.resolve() }

export function makeWriteBack(
  clock: Clock,
  stores: WriteBackStores,
  { persist, makeReplay, settle = () => Promise.resolve() }: WriteBackSteps,
  options: WriteBackOptions,
  onError: (error: unknown) => void,
): WriteBack {
  const { hotStore, recordStore } = stores.breakers

  async function persistIfUp(keys: readonly FlushedKey[]): Promise<void> {
    // All keys of a flush are of one region.
    const isHotDown = keys[0] !== undefined && hotStore.isOpenFor(keys[0].viewer)
    if (isHotDown || recordStore.isOpen()) throw new Error('a flush is left to the sweeper: two stores are down')
    await persist(keys)
  }

  const flusher = makeFlusher(stores.rewards ?? NO_REWARDS, stores.log, persistIfUp, options.flusher, onError)
  const aggregator = makeAggregator(clock, flusher.flush, options.aggregator)
  const writeBack: WriteBack = {
    aggregator,
    flusher,
    journaling:
      stores.journals &&
      makeReplay &&
      makeJournaling(
        clock,
        { hotStore: stores.journaledFor ?? hotStore, recordStore },
        stores.journals,
        (dropped) => makeReplay(writeBack, dropped),
        options.journaling,
        onError,
      ),
    aggregate: (key) => aggregator.add(regionOf(key.viewer, options.regions), key),
    stopReplay: () => writeBack.journaling?.stop() ?? Promise.resolve(),
    async drain() {
      await writeBack.stopReplay()
      await settle()
      // A caller that waited may write once more after it.
      do {
        aggregator.flushAll()
        await flusher.settled()
      } while (aggregator.figures().held > 0)
    },
    figures: () => ({
      aggregator: aggregator.figures(),
      flushes: flusher.figures(),
      journal: writeBack.journaling?.figures() ?? NO_JOURNAL,
    }),
  }
  writeBack.journaling?.start()
  return writeBack
}
