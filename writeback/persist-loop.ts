/**
 * The persist loop of a job: it consumes the flushes of the log, and the sweeper persists the dirty keys that no flush carried. Any number
 * of jobs may run: the log's consumer group splits the regions among them. Work that exists once per deployment is done by the job that owns
 * region 0.
 */
import type { Clock } from '../core/clock.ts'
import type { ProgressKey } from '../core/domain.ts'
import type { LogConsumer } from '../core/log-consumer.ts'
import type { ConsumerHooks, Log, LogBatch } from './log.ts'
import { makeSweeper, type SweeperOptions, type SweptStore } from './sweeper.ts'

export type PersistLoopFigures = {
  /** Messages of the log that were persisted. */
  messages: number
  /** Keys that the sweeper persisted. */
  swept: number
  /** Messages that could not be decoded. */
  parked: number
}

export type PersistLoop = {
  ownedRegions(): readonly number[]
  /** True if this job does the work that exists once per deployment. */
  isLeader(): boolean
  figures(): PersistLoopFigures
  stopSweeping(): Promise<void>
  /** Finishes the current batch and leaves the group. */
  leave(): Promise<void>
}

const LEADER_REGION = 0

/** `persistBatch` and `persistKeys` reject with the code of the store that failed; the same batch or keys come again later. */
export async function startPersistLoop(
  clock: Clock,
  log: Log,
  swept: SweptStore,
  { persistBatch, persistKeys }: { persistBatch(batch: LogBatch): Promise<void>; persistKeys(keys: readonly ProgressKey[]): Promise<void> },
  options: SweeperOptions,
  onError: (error: unknown) => void,
  onParked: NonNullable<ConsumerHooks['parked']> = (reason) => onError(new Error(reason)),
): Promise<PersistLoop> {
  const figures: PersistLoopFigures = { messages: 0, swept: 0, parked: 0 }
  const consumer: LogConsumer = await log.consumeFlushes({
    async persist(batch) {
      await persistBatch(batch)
      figures.messages += batch.messages.length
    },
    parked(reason, where) {
      figures.parked++
      onParked(reason, where)
    },
  })
  const ownedRegions = (): readonly number[] => consumer.ownedRegions()
  const sweeper = makeSweeper(clock, swept, log, ownedRegions, persistKeys, options)
  sweeper.start(({ keys }) => {
    figures.swept += keys
  }, onError)
  return {
    ownedRegions,
    isLeader: () => ownedRegions().includes(LEADER_REGION),
    figures: () => ({ ...figures }),
    stopSweeping: sweeper.stop,
    leave: () => consumer.stop(),
  }
}
