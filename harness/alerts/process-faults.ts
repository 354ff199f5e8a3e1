/** Faults of one process: too little time, a wrong clock, restarts. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Role } from '../deployment/role.ts'
import { WITH_BUSY_PROCESS } from './companions.ts'
import type { DrillFault } from './drill.ts'

/** A process runs for an eighth of the time. It still answers scrapes between two stops, and is stopped several times between two scrapes. */
const BUSY_MS = { stopped: 700, running: 100 }
const HOURS_BEHIND = 4

/** The process gets too little of a core, as on a machine with too many processes. */
export function busyProcess(role: Role | undefined): DrillFault {
  let ended: Promise<void> | undefined
  let isRepaired = false
  const signal = (kind: NodeJS.Signals): void => {
    const pid = role?.pid()
    if (pid !== undefined) process.kill(pid, kind)
  }
  async function starve(): Promise<void> {
    while (!isRepaired) {
      signal('SIGSTOP')
      await sleep(BUSY_MS.stopped)
      signal('SIGCONT')
      await sleep(BUSY_MS.running)
    }
  }
  return {
    name: 'a gateway gets an eighth of its time',
    alerts: ['TidemarkProcessBusy'],
    companions: WITH_BUSY_PROCESS,
    inject() {
      ended = starve()
    },
    async repair() {
      isRepaired = true
      await ended
    },
  }
}

export function restarts(role: Role | undefined): DrillFault {
  return {
    name: 'a job ends again and again',
    alerts: ['TidemarkProcessRestarts'],
    companions: { TidemarkProcessDown: 'a start takes as long as two scrapes' },
    async inject() {
      for (let time = 0; time < 3; time++) {
        await role?.kill()
        await role?.start()
        // Prometheus must see each start.
        await sleep(2_500)
      }
    },
    repair: () => undefined,
  }
}

/** The job folds an hour when it is over by the job's clock. A drill is too short to wait three hours for a slow job. */
export function lateClock(role: Role | undefined): DrillFault {
  const behind = `const now = Date.now.bind(Date); Date.now = () => now() - ${HOURS_BEHIND * 3_600_000}`
  const restart = async (more: readonly string[] = []): Promise<void> => {
    await role?.stop()
    await role?.start(more)
  }
  return {
    name: 'the clock of the folding job is four hours behind',
    alerts: ['TidemarkFoldsBehind'],
    companions: {
      TidemarkStoreFindings: 'the check of the stores compares their clocks with that of the process',
      TidemarkProcessDown: 'a restart takes as long as two scrapes',
    },
    inject: () => restart(['--import', `data:text/javascript,${encodeURIComponent(behind)}`]),
    repair: () => restart(),
  }
}
