/** Runs of the listing code of `tidemark migrate-played`. A run may die, be repeated, or overlap with another run. */
import { listViewers } from '../../../cli/migrate/migration-listing.ts'
import type { PlaceKeeper } from '../../../cli/migrate/migration-place.ts'
import { inBatches, type ViewerLine } from '../../../cli/migrate/viewers-file.ts'
import type { BusinessNumber, ViewerId } from '../../../core/domain.ts'
import type { Random } from '../../../core/random.ts'
import { makeDice, type Chance } from '../dice.ts'
import type { Life } from '../life.ts'
import { openSimulatedSeenStore } from './model-hot.ts'
import { openSimulatedLegacyPlays } from './model-legacy.ts'
import { openSimulatedSeenRecords } from './model-records.ts'
import type { OperatorWorld } from './operator-world.ts'
import type { LegacyWorld } from './process.ts'

export type ListingOptions = {
  lines: readonly ViewerLine[]
  businesses: readonly BusinessNumber[]
  batchMax: number
  /** The command continues where the last run stopped. */
  keepsPlace: boolean
}

export function makeListingRuns(
  random: Random,
  world: OperatorWorld,
  legacy: LegacyWorld,
  { lines, businesses, batchMax, keepsPlace }: ListingOptions,
  onListed: (life: Life) => void,
) {
  const { scheduler, checker, history, hot, records, faults, skewMaxMs } = world
  const { between } = makeDice(random)
  /** The command keeps its place in a file, which survives the command. */
  let line = 0
  const runs = new Set<Life>()
  let runsBegun = 0

  function begin(): void {
    const life: Life = { name: `migrate-played ${++runsBegun}`, dead: false, skewMs: skewMaxMs === 0 ? 0 : between(-skewMaxMs, skewMaxMs) }
    history?.note(scheduler.now(), `--- ${life.name} begins${keepsPlace ? ` after line ${line}` : ''}`)
    runs.add(life)
    list(life).then(
      () => {
        if (!runs.delete(life)) return
        history?.note(scheduler.now(), `--- ${life.name} has listed all viewers`)
        onListed(life)
      },
      (error: unknown) => {
        runs.delete(life)
        history?.note(scheduler.now(), `--- ${life.name} ends: ${String(error)}`)
      },
    )
  }

  async function list(life: Life): Promise<void> {
    const [gate, clock] = [scheduler.gateOf(life), scheduler.clockOf(life)]
    const shape = world.shape()
    const staging = openSimulatedSeenStore(hot, shape, gate)
    const port = openSimulatedLegacyPlays(legacy.state, gate, scheduler.now, 0, legacy.pageMax)
    const stored = openSimulatedSeenRecords(records, {}, checker.recordsObserver, gate)
    const after = keepsPlace ? line : 0
    const place: PlaceKeeper = {
      line: after,
      put: (done) => void (line = faults.resumesPast === true ? (lines.find((each) => each.line > done)?.line ?? done) : done),
    }
    await port.check()
    const left = async function* () {
      yield* lines.filter((each) => each.line > after)
    }
    await listViewers(clock, { hot: staging, records: stored, legacy: port }, inBatches(left(), batchMax), place, {
      ...{ businesses, shape, isDry: false, onMistake: () => undefined, onBatch: () => undefined },
      pace: () => new Promise<void>((resolve) => clock.after(between(1, 100), resolve)),
    })
  }

  function kill(life: Life): void {
    history?.note(scheduler.now(), `--- ${life.name} dies`)
    scheduler.kill(life)
    runs.delete(life)
  }

  return {
    begin,
    count: () => runs.size,
    killAll: () => runs.forEach(kill),
  }
}

export function drawFile(viewers: readonly ViewerId[], chance: Chance): ViewerLine[] {
  const ids = viewers.filter(() => chance(0.85)).flatMap((viewer) => (chance(0.1) ? [viewer, viewer] : [viewer]))
  return ids.flatMap((viewer, at) => [
    ...(chance(0.05) ? [{ viewer: undefined, line: 3 * at + 1, mistake: 'not an id' }] : []),
    { viewer, line: 3 * at + 2, mistake: undefined },
  ])
}
