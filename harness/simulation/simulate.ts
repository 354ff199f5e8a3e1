/** Runs seeds one after the other, and reports the first failure as a short history of events. */
import { makeHistory, type History } from './history-of-events.ts'
import { runFeedWorld, type FeedFaults } from './feed/world.ts'
import { runMarkWorld, type MarkFaults } from './thumbup/world.ts'
import { runSeenWorld, type SeenFaults } from './feed-existence/world.ts'
import { START } from './history/draws.ts'
import { runWorld, type PlantedFaults } from './history/world.ts'
import type { WorldReport } from './steps.ts'

export const LIVELY_STEPS = 600

type Run<F> = (seed: number, options: { livelySteps: number; faults: F }, history?: History) => Promise<WorldReport>

export type Worlds = { history: PlantedFaults; thumbup: MarkFaults; existence: SeenFaults; feed: FeedFaults }
export type WorldName = keyof Worlds

/** The worlds, by the name of the subgraph. */
const RUNS: { [W in WorldName]: Run<Worlds[W]> } = { history: runWorld, thumbup: runMarkWorld, existence: runSeenWorld, feed: runFeedWorld }
export const WORLDS = Object.keys(RUNS) as WorldName[]

export type SimulationOptions<W extends WorldName> = {
  first: number
  seeds: number
  faults?: Worlds[W]
  /** Called after each seed. */
  onSeed?: (seed: number, steps: number) => void
}

export type Failure = {
  seed: number
  message: string
  /** The events of the affected viewer, up to the failure. */
  history: string[]
}

export type SimulationReport = { seeds: number; steps: number; failure: Failure | undefined }

export async function simulate<W extends WorldName>(
  world: W,
  { first, seeds, faults = {}, onSeed }: SimulationOptions<W>,
): Promise<SimulationReport> {
  let steps = 0
  // Stores that are down cause thousands of errors. Their stack traces are not needed.
  const { stackTraceLimit } = Error
  Error.stackTraceLimit = 0
  try {
    for (let seed = first; seed < first + seeds; seed++) {
      const report = await RUNS[world](seed, { livelySteps: LIVELY_STEPS, faults })
      steps += report.steps
      onSeed?.(seed, report.steps)
      if (report.failure !== undefined) {
        Error.stackTraceLimit = stackTraceLimit
        return { seeds: seed - first + 1, steps, failure: await explain(world, seed, faults) }
      }
    }
  } finally {
    Error.stackTraceLimit = stackTraceLimit
  }
  return { seeds, steps, failure: undefined }
}

const LINES_MAX = 60

/**
 * The same seed with a history. A world that becomes quiet earlier is the same world up to that step. The shortest lively time that fails,
 * of a few tried, therefore gives the shortest history.
 */
export async function explain<W extends WorldName>(world: W, seed: number, faults: Worlds[W]): Promise<Failure> {
  for (let livelySteps = 20; ; livelySteps = Math.ceil(livelySteps * 1.15)) {
    const history = makeHistory(START)
    const { failure } = await RUNS[world](seed, { livelySteps: Math.min(livelySteps, LIVELY_STEPS), faults }, history)
    if (failure !== undefined) return { seed, message: failure.message, history: history.lines(failure.viewer, LINES_MAX) }
    if (livelySteps > LIVELY_STEPS) throw new Error(`seed ${seed} failed once and does not fail again`)
  }
}
