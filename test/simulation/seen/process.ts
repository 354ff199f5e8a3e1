/**
 * A process of the deployment: the feed-existence subgraph as it is, with its job or without, over ports that lead through the
 * scheduler.
 */
import type { Config } from '../../../core/config.ts'
import type { Random } from '../../../core/random.ts'
import type { GuardOptions } from '../../../core/guarded-stores.ts'
import type { RingShape } from '../../../stores/seen-store.ts'
import { makeExistenceSubgraph } from '../../../subgraphs/feed-existence/index.ts'
import type { ExistenceJob } from '../../../subgraphs/feed-existence/job.ts'
import type { ExistenceService } from '../../../subgraphs/feed-existence/service.ts'
import type { SeenRecordsState } from '../../contracts/seen-records-model.ts'
import { openModelLog, type LogState, type Member } from '../model-log.ts'
import type { Role } from '../process.ts'
import type { Life, Scheduler } from '../scheduler.ts'
import type { SeenChecker } from './checker.ts'
import { openSimulatedHistory } from './model-history.ts'
import { openSimulatedSeenStore, type SeenHotState } from './model-hot.ts'
import { openSimulatedPlayLog } from './model-plays.ts'
import { openSimulatedSeenRecords, type SeenRecordsFaults, type SeenRecordsObserver } from './model-records.ts'

export type SeenWorldStores = {
  hot: SeenHotState
  log: LogState
  records: SeenRecordsState
  recordsObserver: SeenRecordsObserver
  /** Absent where no history is kept. */
  landings: SeenChecker['landings'] | undefined
  /** Do first plays and issues of a day earn something? */
  isRewarding: boolean
  faults: SeenRecordsFaults
}

export type SeenProcess = Role & {
  life: Life
  shape: RingShape
  service: ExistenceService
  /** The member of the log's group that this process is, once it joined. */
  member(): Member | undefined
  /** Ends the process in order: nothing it took is under way any more when this resolves. */
  stop(): Promise<void>
}

/** Milliseconds before a job that could not join the group tries again. */
const JOIN_RETRY_MS = 200

export function startSeenProcess(
  scheduler: Scheduler,
  random: Random,
  stores: SeenWorldStores,
  life: Life,
  role: Role,
  config: Config,
  shape: RingShape,
  guard: GuardOptions,
  onError: (error: unknown) => void,
): SeenProcess {
  const gate = scheduler.gateOf(life)
  const clock = scheduler.clockOf(life)
  let member: Member | undefined
  const questions = new Set<Promise<unknown>>()
  const plainHot = openSimulatedSeenStore(stores.hot, shape, gate)
  const plainRecords = openSimulatedSeenRecords(stores.records, stores.faults, stores.recordsObserver, gate)
  const plainLog = openSimulatedPlayLog(stores.log, gate, clock, (joined) => {
    member = joined
  })
  const hot = { ...plainHot, check: () => noted(plainHot.check()), getSeenMany: noting(plainHot.getSeenMany) }
  const records = { ...plainRecords, check: () => noted(plainRecords.check()), getFilters: noting(plainRecords.getFilters) }
  const log = { ...plainLog, check: () => noted(plainLog.check()), appendPlays: noting(plainLog.appendPlays) }
  const own: Config = { ...config, existence: { ...config.existence, ...shape } }
  const history = stores.landings && openSimulatedHistory(stores.landings, gate)
  const rewards = stores.isRewarding ? openModelLog(stores.log, gate, clock) : undefined
  const subgraph = makeExistenceSubgraph(clock, { hot, log, records, history, rewards }, own, onError, { guard, random })
  const job = role.persists ? startJob() : undefined

  /** Whoever stops a process waits also for what it has given up. */
  function noted<T>(question: Promise<T>): Promise<T> {
    questions.add(question)
    const forget = (): void => void questions.delete(question)
    question.then(forget, forget)
    return question
  }
  function noting<A extends unknown[], T>(call: (...args: A) => Promise<T>): (...args: A) => Promise<T> {
    return (...args) => noted(call(...args))
  }

  /** A job that cannot join the group yet tries again, as its supervisor would have it do. */
  async function startJob(): Promise<ExistenceJob> {
    for (;;) {
      try {
        return await subgraph.startJob()
      } catch (error) {
        onError(error)
        await new Promise<void>((resolve) => clock.after(JOIN_RETRY_MS, resolve))
      }
    }
  }

  return {
    ...role,
    life,
    shape,
    service: subgraph.service,
    member: () => member,
    async stop() {
      await subgraph.drain()
      await (await job)?.stop().catch(onError)
      // As the shutdown does it: what the job's last plays earned is still under way.
      await subgraph.drain()
      await Promise.allSettled(questions)
    },
  }
}
