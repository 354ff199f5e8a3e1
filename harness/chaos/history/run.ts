/**
 * The frame of all chaos runs. A run has its own deployment with proxies. Writers and faults run in parallel. Then the load ends, the run
 * waits until the deployment has converged, and every acknowledged write is looked up.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { seededRandom } from '../../../core/random.ts'
import { startDeployment, waitUntilConverged, type Deployment, type DeploymentOptions } from '../../deployment/deployment.ts'
import type { Role } from '../../deployment/role.ts'
import { makeFaults, type FaultFigures, type FaultOptions, type Faults } from './faults.ts'
import { makeTally, type Tally } from './tally.ts'

export type RunOptions = Omit<FaultOptions, 'cutMinMs'> & {
  seed: number
  viewers: number
  /** Ends the run at any time. */
  signal?: AbortSignal
  progress(text: string): void
}

export type RunReport = {
  faults: FaultFigures
  tally: Tally
  /** Sentences about answers that were wrong when they were given. */
  wrong: string[]
  /** Sentences about roles that ended by themselves. */
  deaths: string[]
  convergedMs: number
}

export type Stage = {
  deployment: Deployment
  faults: Faults
  tally: Tally
  /** Reports an answer that was wrong when it was given. */
  onWrong(sentence: string): void
  progress(text: string): void
}

/** The parts of a run that its capability defines. */
export type Run<Found> = {
  writers: { stop(): Promise<void> }
  /** The faults begin once it returns true. */
  isReady?(): boolean
  /** The writers wait for it before they stop. */
  last?: Promise<unknown>
  /** The writers also go on until it returns true. A slow machine therefore checks as many writes as a fast one. */
  isEnough(): boolean
  /** A text about the acknowledged writes so far. */
  acknowledged(): string
  /** Looks up all acknowledged writes, once the deployment has converged. */
  look(): Promise<Found>
  end?(): Promise<void>
}

const CUT_MIN_MS = 500
const QUIET_MAX_MS = 120_000
const LOAD_MAX_MS = 120_000

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
    const { writers, isReady, last, isEnough, acknowledged, look } = (run = await begin({ deployment, faults, tally, onWrong, progress }))
    let figures: FaultFigures
    try {
      if (isReady !== undefined) await waitForLoad(isReady, acknowledged, signal)
      figures = await faults.run((text) =>
        progress(`${text}; ${acknowledged()} acknowledged, ${tally.errorCount()} errors, ${wrong.length} wrong answers`),
      )
      await last
      await waitForLoad(isEnough, acknowledged, signal)
    } finally {
      await writers.stop()
    }
    progress('the load has ended')
    const convergedMs = await waitUntilConverged(deployment, QUIET_MAX_MS)
    progress(`everything in place after ${(convergedMs / 1_000).toFixed(1)} s; looking up the acknowledged writes`)
    const found = await look()
    const deaths = [...deployment.roles.flatMap((role) => role.deaths()), ...figures.failedStarts]
    return { faults: figures, tally, wrong, deaths, convergedMs, ...found }
  } finally {
    signal?.removeEventListener('abort', abort)
    await run?.end?.()
    await deployment.remove()
  }
}

async function waitForLoad(isEnough: () => boolean, acknowledged: () => string, signal: AbortSignal | undefined): Promise<void> {
  for (const begun = performance.now(); !isEnough(); await sleep(100, undefined, { signal }))
    if (performance.now() - begun > LOAD_MAX_MS)
      throw new Error(`the load is below its minimum after ${LOAD_MAX_MS / 1_000} s: ${acknowledged()}`)
}
