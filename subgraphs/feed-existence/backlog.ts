/**
 * May the hot store lack plays that were acknowledged, by whatever process? While it is down, or takes no writes, they go to the log, and a job
 * brings them later: an outage is over for readers only when all that the log had at its end is staged. Until then
 * answers say that they are without the hot store, and nobody takes them for complete.
 *
 * Other processes notice a little later than this one that the store is back, and log until then: so where the log ends is asked after
 * a while, too.
 */
import type { Clock, Timer } from '../../core/clock.ts'
import type { LogEnd, PlayLog } from '../../stores/play-log.ts'

export type Backlog = {
  /** Something of this part of the hot store was logged, or may have been, up to now. Undefined: of any. */
  begin(part: number | undefined): void
  mayLack(part: number | undefined): boolean
  /** Looks whether a process before this one has left something. What it finds concerns all. */
  start(): void
  stop(): Promise<void>
}

/** `silent`: nothing is known to wait. */
type Wait = { askFrom: number; end: LogEnd | undefined; silent: boolean }

export function makeBacklog(
  clock: Clock,
  log: Pick<PlayLog, 'end' | 'isStaged'>,
  { checkEveryMs }: { checkEveryMs: number },
  onError: (error: unknown) => void,
): Backlog {
  const waits = new Map<number | undefined, Wait>()
  let timer: Timer | undefined
  let working: Promise<void> | undefined
  let isStopped = false

  function plan(delayMs: number): void {
    if (isStopped || waits.size === 0 || working !== undefined) return
    timer ??= clock.after(delayMs, () => {
      timer = undefined
      working = look()
        .catch(onError)
        .finally(() => {
          working = undefined
          plan(checkEveryMs)
        })
    })
  }

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
      for (const [part, wait] of some) {
        wait.silent = false
        // Another outage may have begun since.
        if (isStaged && waits.get(part) === wait) waits.delete(part)
      }
    }
  }

  const isKnown = (wait: Wait | undefined): boolean => wait !== undefined && !wait.silent

  return {
    begin(part) {
      waits.set(part, { askFrom: clock.now() + 2 * checkEveryMs, end: undefined, silent: false })
      plan(checkEveryMs)
    },
    mayLack: (part) => waits.size > 0 && (isKnown(waits.get(undefined)) || (part !== undefined && isKnown(waits.get(part)))),
    start() {
      if (waits.has(undefined)) return
      waits.set(undefined, { askFrom: clock.now(), end: undefined, silent: true })
      plan(0)
    },
    async stop() {
      isStopped = true
      timer?.cancel()
      await working
    },
  }
}
