/**
 * May the hot store lack plays that were acknowledged, by whatever process? While it is down, or takes no writes, they go to the log, and a job
 * brings them later: an outage is over for readers only when all that the log had at its end is staged. Until then
 * answers say that they are without the hot store, and nobody takes them for complete.
 *
 * Other processes notice a little later than this one that the store is back, and log until then: so where the log ends is asked after
 * a while, too.
 *
 * A process that begins knows of no outage, and plays may wait all the same: it may lack some until the log has said that it does not.
 */
import type { Clock } from '../../../core/clock.ts'
import { makeWorker } from '../../../core/worker.ts'
import type { LogEnd, PlayLog } from '../stores/play-log.ts'

export type Backlog = {
  /** Something of this part of the hot store was logged, or may have been, up to now. Undefined: of any. */
  begin(part: number | undefined): void
  mayLack(part: number | undefined): boolean
  /**
   * Looks whether a process before this one has left something. What it finds concerns all, as does that it cannot look. To be awaited
   * before requests are taken, so that none is told of a gap where there is none; it waits only so long for a log that is silent.
   */
  start(): Promise<void>
  stop(): Promise<void>
}

type Wait = { askFrom: number; end: LogEnd | undefined }

/** A start does not wait longer for the log. */
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
        // Another outage may have begun since.
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
