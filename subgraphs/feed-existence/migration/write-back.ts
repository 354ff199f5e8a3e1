/**
 * Writes plays back to the legacy store, behind the answer, so that a return to it stays possible. Plays that it does not accept wait in
 * memory. If there is no room there, or the process dies, the fold offers them once more an hour or two later: a play leaves staging only
 * after that (`subgraphs/feed-existence/fold/fold.ts`). Plays refused even then are missed; they are counted and reported.
 */
import type { Breaker } from '../../../core/outage/breaker.ts'
import type { Clock } from '../../../core/clock.ts'
import { makeWorker } from '../../../core/worker.ts'
import type { BusinessNumber, Play } from '../../../core/domain.ts'
import type { LegacyPlays } from '../stores/legacy-plays.ts'

export type WriteBackFigures = {
  /** Plays accepted, at once or with a fold. */
  written: number
  /** Plays that left memory without being accepted: the fold offers them again. */
  postponed: number
  /** Plays refused at the fold: the legacy store does not have them. */
  missed: number
  waiting: number
}

export type WriteBack = {
  /** Called with staged plays. */
  note(plays: readonly Play[]): void
  /** Called with plays that are about to leave staging. Never rejects. */
  last(plays: readonly Play[]): Promise<void>
  figures(): WriteBackFigures
  /** Waits for writes under way, offers the waiting plays once more, and takes no more. */
  stop(): Promise<void>
}

const WAITING_MAX = 50_000
const BATCH = 500
const AGAIN_MS = 1_000

export function makeWriteBack(
  clock: Clock,
  legacy: Pick<LegacyPlays, 'putPlays'>,
  breaker: Pick<Breaker, 'run'>,
  businesses: readonly BusinessNumber[],
  onError: (error: unknown) => void,
): WriteBack {
  const having = new Set(businesses)
  const figures = { written: 0, postponed: 0, missed: 0 }
  let waiting: Play[] = []
  const worker = makeWorker(clock, work, () => (waiting.length > 0 ? AGAIN_MS : undefined), onError)
  let stopped = false

  /** Returns the number of plays refused because their key is not a sorted set. */
  async function put(plays: readonly Play[]): Promise<number> {
    const refused = await breaker.run(() => legacy.putPlays(plays))
    figures.written += plays.length - refused.length
    return refused.length
  }

  async function work(): Promise<void> {
    while (waiting.length > 0) {
      const batch = waiting.slice(0, BATCH)
      try {
        figures.postponed += await put(batch)
      } catch (error) {
        onError(error)
        return
      }
      waiting = waiting.slice(batch.length)
    }
  }

  return {
    note(plays) {
      if (stopped) return
      const own = plays.filter(({ business }) => having.has(business))
      const room = Math.max(0, WAITING_MAX - waiting.length)
      figures.postponed += Math.max(0, own.length - room)
      waiting.push(...own.slice(0, room))
      // The worker's timer retries plays that failed.
      if (waiting.length > 0 && !worker.isBusy() && !worker.isPlanned()) void worker.wake()
    },
    async last(plays) {
      const own = plays.filter(({ business }) => having.has(business))
      for (let from = 0; from < own.length; from += BATCH) {
        const batch = own.slice(from, from + BATCH)
        try {
          const refused = await put(batch)
          figures.missed += refused
          if (refused > 0) onError(new Error(`${refused} plays are missing in the legacy store, since their keys are not sorted sets`))
        } catch (error) {
          figures.missed += batch.length
          onError(error)
        }
      }
    },
    figures: () => ({ ...figures, waiting: waiting.length }),
    async stop() {
      stopped = true
      await worker.stop()
      await work()
      figures.postponed += waiting.length
      waiting = []
    },
  }
}
