/**
 * Tracks whether the hot store may lack acknowledged plays, of any process. While it is down or refuses writes, plays go to the log, and a
 * job stages them later. For readers, an outage therefore ends only when everything that was in the log at its end is staged. Until then,
 * answers are marked as degraded, so that nobody takes them for complete.
 *
 * Other processes notice the end of the outage a little later, and log until then. The end of the log is therefore read after a delay.
 *
 * A new process does not know of an earlier outage, but plays may still wait. Until the log confirms that none do, the hot store may lack
 * some.
 */
import type { Clock } from '../../../core/clock.ts'
import { makeWorker } from '../../../core/worker.ts'
import type { LogEnd, PlayLog } from '../stores/play-log.ts'

export type Backlog = {
  /** Plays for this part of the hot store were logged, or may have been, up to now. Undefined: for any part. */
  begin(part: number | undefined): void
  mayLack(part: number | undefined): boolean
  /**
   * Checks whether an earlier process has left plays in the log. Unstaged plays, or a failed check, concern all parts. Await it before
   * serving requests, so that no answer is degraded without need. It waits only a limited time for the log.
   */
  start(): Promise<void>
  stop(): Promise<void>
}

type Wait = { askFrom: number; end: LogEnd | undefined }

/** Maximum wait of a start for the log. */
const FIRST_LOOK_MAX_MS = 5_000

export function makeBacklog(
  clock: Clock,
  log: Pick<PlayLog, 'end' | 'isStaged'>,
  { checkEveryMs }: { checkEveryMs: number },
  onError: (error: unknown) => void,
): Backlog {
  const waits = new Map<number | undefined, Wait>()
  const worker = makeWorker(clock, look, () => (waits.size > 0 ? checkEveryMs : undefined), onError)

  async function look(): Promise<void> {
    const now = clock.now()
    const due = [...waits].filter(([, { askFrom }]) => askFrom <= now)
    const fresh = due.filter(([, { end }]) => end === undefined)
    if (fresh.length > 0) {
      const end = await log.end()
      for (const [, wait] of fresh) wait.end = end
    }
    for (const [end, some] of Map.groupBy(due, ([, wait]) => wait.end)) {
      if (end === undefined) continue
      const isStaged = await log.isStaged(end)
      if (!isStaged) continue
      for (const [part, wait] of some) {
        // Another outage may have begun meanwhile.
        if (waits.get(part) === wait) waits.delete(part)
      }
    }
  }

  return {
    begin(part) {
      waits.set(part, { askFrom: clock.now() + 2 * checkEveryMs, end: undefined })
      worker.plan(checkEveryMs)
    },
    mayLack: (part) => waits.size > 0 && (waits.has(undefined) || (part !== undefined && waits.has(part))),
    async start() {
      if (waits.has(undefined)) return
      waits.set(undefined, { askFrom: clock.now(), end: undefined })
      await new Promise<void>((resolve) => {
        const late = clock.after(FIRST_LOOK_MAX_MS, resolve)
        void worker.wake().then(() => {
          late.cancel()
          resolve()
        })
      })
    },
    stop: worker.stop,
  }
}
