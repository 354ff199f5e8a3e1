/**
 * Plays that were acknowledged while the hot store was down or full, and that it still lacks. Plays of this process are known one by one
 * (`waiting-plays.ts`). Plays of other processes can only be suspected: while the store refuses writes (`core/outage/write-watch.ts`), and
 * until the log is staged (`backlog.ts`).
 */
import type { Clock } from '../../../core/clock.ts'
import type { Play } from '../../../core/domain.ts'
import type { GuardedSeenStores } from '../stores/guarded.ts'
import { makeBacklog } from './backlog.ts'
import type { Arrears } from '../read/viewer-reads.ts'
import { makeWaitingPlays } from './waiting-plays.ts'

export type ProcessArrears = Arrears & {
  /** Called with plays that the log has acknowledged to this process. */
  note(plays: readonly Play[]): void
  /**
   * For a process that serves. Starts checking whether the hot store accepts writes, and waits for the log's answer about unstaged plays.
   */
  start(): Promise<void>
  /** Plays of this process that wait to be staged. */
  figures(): { waiting: number }
  stop(): Promise<void>
}

const CHECK_EVERY_MS = 1_000

export function makeArrears(
  clock: Clock,
  { hot, log, breakers, writes }: GuardedSeenStores,
  stage: (plays: readonly Play[]) => Promise<unknown>,
  { checkEveryMs = CHECK_EVERY_MS }: { checkEveryMs?: number },
  onError: (error: unknown) => void,
): ProcessArrears {
  const backlog = makeBacklog(clock, log, { checkEveryMs }, onError)
  const mayStage = (viewer: string): boolean => !breakers.hotStore.isOpenFor(viewer) && !writes.isRefusing(viewer)
  const waiting = makeWaitingPlays(clock, stage, { retryMs: checkEveryMs, mayStage }, onError)
  const isInParts = hot.partOf !== undefined
  const partOf = (viewer: string): number | undefined => hot.partOf?.(viewer)

  function back(part: number | undefined): void {
    backlog.begin(isInParts ? part : undefined)
    waiting.wake()
  }
  breakers.hotStore.onClose(back)
  writes.onClose(back)

  return {
    waitingOf: waiting.of,
    mayLack: (viewer) => writes.isRefusing(viewer) || backlog.mayLack(partOf(viewer)),
    note(plays) {
      waiting.note(plays)
      for (const part of new Set(plays.map(({ viewer }) => partOf(viewer)))) backlog.begin(part)
    },
    async start() {
      writes.start()
      await backlog.start()
    },
    figures: waiting.figures,
    async stop() {
      await Promise.all([waiting.stop(), backlog.stop()])
    },
  }
}
