/**
 * The rules of a migration after quiet: every selected viewer is migrated, the command's own verification finds no promised play missing,
 * and a repeated fold, as after a death before the mark, adds nothing.
 */
import { verifyViewer } from '../../../cli/migrate/migration-verify.ts'
import type { Clock } from '../../../core/clock.ts'
import type { Config } from '../../../config/config.ts'
import type { BusinessNumber, ViewerId } from '../../../core/domain.ts'
import { MARK_MONTH } from '../../../subgraphs/feed-existence/migration/progress.ts'
import { seededRandom } from '../../../core/random.ts'
import { makeExistenceMigration } from '../../../subgraphs/feed-existence/index.ts'
import { liveness } from '../../../subgraphs/feed-existence/migration/legacy.ts'
import type { RingShape } from '../../../subgraphs/feed-existence/stores/hot-store.ts'
import type { SeenRecordsState } from '../../models/feed-existence/record-store-model.ts'
import { openGate } from '../gate.ts'
import type { SeenChecker } from './checker.ts'
import { openSimulatedSeenStore, type SeenHotState } from './model-hot.ts'
import { nameOf, openSimulatedLegacyPlays } from './model-legacy.ts'
import { openSimulatedSeenRecords } from './model-records.ts'
import type { SeenOperator } from './operator.ts'
import { keyText } from './universe.ts'

export type MovedQuiet = {
  now: number
  hot: SeenHotState
  records: SeenRecordsState
  regions: number
  shape: RingShape
  config: Config
}

export async function checkMoved(checker: SeenChecker, operator: NonNullable<SeenOperator>, quiet: MovedQuiet): Promise<void> {
  const { now, hot, records, shape } = quiet
  const { state, config: legacyConfig, pageMax } = operator.legacy
  const clock: Clock = {
    now: () => now,
    after(_, task) {
      const timer = setImmediate(task)
      return { cancel: () => clearImmediate(timer) }
    },
  }
  const existence = { ...quiet.config.existence, legacy: legacyConfig }
  const config = { ...quiet.config, existence: { ...existence, ...shape } }
  const legacy = openSimulatedLegacyPlays(state, openGate, () => now, 0, pageMax)
  const stored = openSimulatedSeenRecords(records, {}, checker.recordsObserver, openGate)
  const stores = { hot: openSimulatedSeenStore(hot, shape, openGate), records: stored, legacy }
  const { monthsBefore, futureMaxMs } = existence
  const rules = { monthsBefore, futureMaxMs, isLive: liveness(clock, existence) }
  if (!operator.isDone()) checker.fail('quiet: migrate-played does not end', undefined)
  if (!operator.hasListed()) return

  for (const [viewer, business] of operator.wanted()) {
    if (!checker.moved.has(nameOf(viewer, business))) checker.fail(`migrated: business ${business} was listed, but is not folded`, viewer)
    const { isMigrated, missing } = await verifyViewer(clock, stores, viewer, business, rules)
    const lost = missing.find(({ oid }) => {
      const promised = state.promiseOf(viewer, business, oid)
      return promised !== undefined && checker.isLiveFor(promised.playedAt)
    })
    const isDamaged = checker.isDamaged(viewer)
    if (isMigrated && lost !== undefined && !(isDamaged && operator.setting() === 'none'))
      checker.fail(`migrated: ${keyText(business, lost.oid)} is in the legacy store, but not in this one`, viewer)
  }
  if (checker.failure() === undefined) await checkRepeated()

  /** Twice: the first run may add plays that only the old system has. */
  async function checkRepeated(): Promise<void> {
    const migration = makeExistenceMigration(clock, stores, config, seededRandom(1))
    const mover = migration?.makeMover()
    for (const viewer of new Set(operator.wanted().map(([each]) => each))) {
      if (checker.isDamaged(viewer)) continue
      const businesses = operator.wanted().flatMap(([each, business]): BusinessNumber[] => (each === viewer ? [business] : []))
      let before = ''
      for (let time = 1; time <= 2; time++) {
        records.filters.delete(`${MARK_MONTH}:${viewer}`)
        await mover?.migrate(viewer, businesses)
        const after = filtersOf(viewer)
        if (time === 2 && after !== before) checker.fail('repeated: a repeated fold has changed the filters', viewer)
        before = after
      }
    }
  }

  function filtersOf(viewer: ViewerId): string {
    const own = [...records.filters.values()].filter((each) => each.viewer === viewer && each.month !== MARK_MONTH)
    return own.map(({ month, version, filter }) => `${month} ${version} ${filter?.toString('base64')}`).join('\n')
  }
}
