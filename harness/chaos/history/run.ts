/**
 * What the three chaos runs share: a deployment of a run's own, with proxies in between; writers and faults side by side; then
 * quiet, until everything is in place; then everything acknowledged is looked for.
 */
import { seededRandom } from '../../../core/random.ts'
import { startDeployment, waitUntilConverged, type Deployment, type DeploymentOptions } from '../../deployment/deployment.ts'
import type { Role } from '../../deployment/role.ts'
import { makeFaults, type FaultFigures, type FaultOptions, type Faults } from './faults.ts'
import { makeTally, type Tally } from './tally.ts'

export type RunOptions = Omit<FaultOptions, 'cutMinMs'> & {
  seed: number
  viewers: number
  /** Ends everything, whatever is under way. */
  signal?: AbortSignal
  progress(text: string): void
}

export type RunReport = {
  faults: FaultFigures
  tally: Tally
  /** Sentences: answers that were wrong when they were given. */
  wrong: string[]
  /** Sentences: roles that ended by themselves. */
  deaths: string[]
  convergedMs: number
}

export type Stage = {
  deployment: Deployment
  faults: Faults
  tally: Tally
  /** An answer that was wrong when it was given. */
  onWrong(sentence: string): void
  progress(text: string): void
}

/** What a run does on its stage. */
export type Run<Found> = {
  writers: { stop(): Promise<void> }
  /** Who writes waits for it before he stops. */
  last?: Promise<unknown>
  /** What was acknowledged until now, in words. */
  acknowledged(): string
  /** Looks for it, when all is quiet and in place. */
  look(): Promise<Found>
  end?(): Promise<void>
}

const CUT_MIN_MS = 500
const QUIET_MAX_MS = 120_000

/** `jobs`: the roles that are killed beside gateways and servers. */
export async function runUnderFaults<Found>(
  options: RunOptions,
  setting: Omit<DeploymentOptions, 'gateways' | 'proxies'>,
  jobsOf: (deployment: Deployment) => Role[],
  begin: (stage: Stage) => Promise<Run<Found>>,
): Promise<RunReport & Found> {
  const begun = performance.now()
  const progress = (text: string) => options.progress(`${((performance.now() - begun) / 1_000).toFixed(1).padStart(6)} s  ${text}`)
  const { seed, signal } = options
  progress(
    `seed ${seed}; starting ${['Redis', 'Kafka', 'MariaDB', ...(setting.moreServers ?? []), 'two gateways and two jobs'].join(', ')}`,
  )
  const deployment = await startDeployment({ ...setting, gateways: 2, proxies: true })
  const abort = () => void deployment.remove()
  signal?.addEventListener('abort', abort)
  let run: Run<Found> | undefined
  try {
    const jobs = jobsOf(deployment)
    const faults = makeFaults({ ...deployment, jobs }, seededRandom(seed), { ...options, cutMinMs: CUT_MIN_MS })
    const tally = makeTally(faults.outSince)
    const wrong: string[] = []
    const onWrong = (sentence: string): void => {
      wrong.push(sentence)
      progress(sentence)
    }
    const { writers, last, acknowledged, look } = (run = await begin({ deployment, faults, tally, onWrong, progress }))
    let figures: FaultFigures
    try {
      figures = await faults.run((text) =>
        progress(`${text}; ${acknowledged()} acknowledged, ${tally.errorCount()} errors, ${wrong.length} wrong answers`),
      )
      await last
    } finally {
      await writers.stop()
    }
    progress('quiet')
    const convergedMs = await waitUntilConverged(deployment, QUIET_MAX_MS)
    progress(`everything in place after ${(convergedMs / 1_000).toFixed(1)} s; looking for what was acknowledged`)
    const found = await look()
    const deaths = [...deployment.roles.flatMap((role) => role.deaths()), ...figures.failedStarts]
    return { faults: figures, tally, wrong, deaths, convergedMs, ...found }
  } finally {
    signal?.removeEventListener('abort', abort)
    await run?.end?.()
    await deployment.remove()
  }
}
