/**
 * Plays on their way back to the legacy store, behind the answer, so that one can go back to it. What it does not take now waits
 * in memory until it does; what finds no room there, or is lost with the process, it gets with the fold, an hour or two later:
 * a play leaves staging only after it was offered once more (`subgraphs/feed-existence/fold/fold.ts`). What it does not take then either is missed: it
 * is counted, and told.
 */
import type { Breaker } from '../../../core/outage/breaker.ts'
import type { Clock } from '../../../core/clock.ts'
import { makeWorker } from '../../../core/worker.ts'
import type { BusinessNumber, Play } from '../../../core/domain.ts'
import type { LegacyPlays } from '../stores/legacy-plays.ts'

export type WriteBackFigures = {
  /** Plays that it took, at once or with a fold. */
  written: number
  /** Those that left memory without: the fold has them. */
  postponed: number
  /** Those that it did not take with the fold: it does not have them. */
  missed: number
  waiting: number
}

export type WriteBack = {
  /** Plays that are staged. */
  note(plays: readonly Play[]): void
  /** Plays that are about to leave staging. Resolves in any case. */
  last(plays: readonly Play[]): Promise<void>
  figures(): WriteBackFigures
  /** Waits for what is under way, offers what waits once more, and takes nothing new. */
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

  /** Returns how many it did not take, because something else stands at their key. */
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
      // Plays that failed are tried again by the worker's timer.
      if (waiting.length > 0 && !worker.isBusy() && !worker.isPlanned()) void worker.wake()
    },
    async last(plays) {
      const own = plays.filter(({ business }) => having.has(business))
      for (let from = 0; from < own.length; from += BATCH) {
        const batch = own.slice(from, from + BATCH)
        try {
          const refused = await put(batch)
          figures.missed += refused
          if (refused > 0) onError(new Error(`${refused} plays found no sorted set in the legacy store: it does not have them`))
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
