/**
 * A process of the deployment: the feed-existence subgraph as it is, with its job or without, over ports that lead through the
 * scheduler.
 */
import type { Config } from '../../../config/config.ts'
import type { LegacyConfig } from '../../../config/legacy.ts'
import type { BusinessNumber, ViewerId } from '../../../core/domain.ts'
import type { Random } from '../../../core/random.ts'
import type { RingShape } from '../../../subgraphs/feed-existence/stores/hot-store.ts'
import { makeExistenceSubgraph, type ExistenceSubgraph } from '../../../subgraphs/feed-existence/index.ts'
import type { ExistenceService } from '../../../subgraphs/feed-existence/write/service.ts'
import type { SeenRecordsState } from '../../models/feed-existence/record-store-model.ts'
import { openModelLog, type LogState, type Member } from '../model-log.ts'
import type { Role } from '../places.ts'
import type { Life } from '../life.ts'
import type { Scheduler } from '../scheduler.ts'
import type { SeenChecker } from './checker.ts'
import { openSimulatedHistory } from './model-history.ts'
import { openSimulatedSeenStore, type SeenHotState } from './model-hot.ts'
import { openSimulatedLegacyPlays, type LegacyState, type SimulatedLegacyPlays } from './model-legacy.ts'
import { openSimulatedPlayLog } from './model-plays.ts'
import { openSimulatedSeenRecords, type SeenRecordsFaults, type SeenRecordsObserver } from './model-records.ts'
import { makeQuestions, startUntilJoined } from '../processes.ts'
import type { GuardOptions } from '../../../core/outage/guard.ts'

export type SeenWorldStores = {
  hot: SeenHotState
  log: LogState
  records: SeenRecordsState
  recordsObserver: SeenRecordsObserver
  /** Absent in a world without history. */
  landings: SeenChecker['landings'] | undefined
  /** True if the first play and the first issue of a day earn a reward. */
  isRewarding: boolean
  faults: SeenRecordsFaults
  legacy: LegacyWorld | undefined
}

/** The legacy store of a world with a migration. */
export type LegacyWorld = {
  state: LegacyState
  config: LegacyConfig
  pageMax: number
  onWholeRead(viewer: ViewerId, business: BusinessNumber): void
}

/** The configuration of a process for the legacy store: no store, read only, or read and write back. */
export type Setting = 'none' | 'read' | 'both'

export type SeenProcess = Role & {
  life: Life
  shape: RingShape
  setting: Setting
  /** Undefined if none is configured. */
  legacy: SimulatedLegacyPlays | undefined
  service: ExistenceService
  makeLoaders: ExistenceSubgraph['makeLoaders']
  /** The member of the log's group that this process is, once it joined. */
  member(): Member | undefined
  /** Drains and stops the process. All accepted work is done when this resolves. */
  stop(): Promise<void>
}

/** A round of folds visits all shards of the ring. In a simulated world it does not wait for the machine's event loop. */
const nextTurn = (): Promise<void> => Promise.resolve()

export function startSeenProcess(
  scheduler: Scheduler,
  random: Random,
  stores: SeenWorldStores,
  life: Life,
  role: Role,
  config: Config,
  shape: RingShape,
  setting: Setting,
  guard: GuardOptions,
  onError: (error: unknown) => void,
): SeenProcess {
  const gate = scheduler.gateOf(life)
  const clock = scheduler.clockOf(life)
  let member: Member | undefined
  const { noted, noting, settled } = makeQuestions()
  const plainHot = openSimulatedSeenStore(stores.hot, shape, gate, { hasWrittenBack })
  const plainRecords = openSimulatedSeenRecords(stores.records, stores.faults, stores.recordsObserver, gate)
  const plainLog = openSimulatedPlayLog(stores.log, gate, clock, (joined) => {
    member = joined
  })
  const hot = { ...plainHot, check: () => noted(plainHot.check()), getSeenMany: noting(plainHot.getSeenMany) }
  const records = { ...plainRecords, check: () => noted(plainRecords.check()), getFilters: noting(plainRecords.getFilters) }
  const log = { ...plainLog, check: () => noted(plainLog.check()), appendPlays: noting(plainLog.appendPlays) }
  const legacy = setting === 'none' ? undefined : openLegacy(stores.legacy as LegacyWorld)
  const legacyConfig = stores.legacy && { ...stores.legacy.config, writeBack: setting === 'both' }
  const own: Config = { ...config, existence: { ...config.existence, ...shape, legacy: legacy && legacyConfig } }
  const history = stores.landings && openSimulatedHistory(stores.landings, gate)
  const rewards = stores.isRewarding ? openModelLog(stores.log, gate, clock) : undefined
  const subgraph = makeExistenceSubgraph(clock, { hot, log, records, history, rewards, legacy }, own, onError, { guard, random, nextTurn })
  const job = role.persists ? startUntilJoined(clock, () => subgraph.startJob(), onError) : undefined

  function openLegacy({ state, config: { absentMs }, pageMax, onWholeRead }: LegacyWorld): SimulatedLegacyPlays {
    const plain = openSimulatedLegacyPlays(state, gate, scheduler.now, absentMs, pageMax, onWholeRead)
    return { ...plain, check: () => noted(plain.check()), getPlayedAt: noting(plain.getPlayedAt) }
  }

  /** As the operator sees it: by the process's count of plays that the legacy store has missed. */
  function hasWrittenBack(): boolean | undefined {
    const figures = subgraph.figures().legacy?.writeBack
    return figures && figures.missed === 0
  }
  return {
    ...role,
    life,
    shape,
    setting,
    legacy,
    service: subgraph.service,
    makeLoaders: subgraph.makeLoaders,
    member: () => member,
    async stop() {
      await subgraph.drain()
      await (await job)?.stop().catch(onError)
      // As at shutdown: rewards of the job's last plays are still in flight.
      await subgraph.drain()
      await settled()
    },
  }
}
