/**
 * Stages plays from any source: a request, or the log. If a viewer's slot overflows, it is folded at once, behind the answer. Staged plays
 * therefore stay few, since every `unseen` reads them.
 *
 * The slot is that of this server's hour, never that of `playedAt`: a slot is therefore settled when its hour is over.
 *
 * A fold may fail because of the viewer's data and not because of a store. It would then fail again with each play of the viewer, and take
 * as long as the filters are large. It is therefore tried once an hour, and the job folds the viewer when the hour is over.
 */
import type { Clock } from '../../../core/clock.ts'
import type { Play, RewardEvent, ViewerId } from '../../../core/domain.ts'
import { isTidemarkError, type ErrorCode } from '../../../core/errors.ts'
import type { Fold } from '../fold/fold.ts'
import { rewardOf } from '../../../core/rewards.ts'
import { makeWorker } from '../../../core/worker.ts'
import { HOUR_MS, slotOf } from '../model/time-ring.ts'
import type { PlayWrite, RingShape, SeenStore, StagedCount } from '../stores/hot-store.ts'
import { announceShape } from '../fold/layouts.ts'

export type Staging = {
  /**
   * Returns the rewards that these plays earned, which are sent in the background. Rejects with HOT_STORE_UNAVAILABLE, STORE_FULL; with
   * `max`, the limit of a viewer's staged plays per hour, also with PLAYS_TOO_MANY. Plays that were acknowledged before are staged without
   * `max`.
   */
  stage(plays: readonly PlayWrite[], max?: number): Promise<RewardEvent[]>
  /** Early folds, and the number of waiting viewers. */
  figures(): { earlyFolds: number; earlyWaiting: number }
  /** Waits for the current fold, and begins none. */
  stop(): Promise<void>
}

/** Viewers who may wait. Beyond that, a viewer's next play tries again. */
const WAITING_MAX = 10_000
/** Codes of folds that would fail again: the viewer's filter has no room left, or has a newer format. */
const LASTING: ReadonlySet<ErrorCode> = new Set<ErrorCode>(['PLAYS_TOO_MANY', 'DATA_INCOMPATIBLE'])

export function makeStaging(
  clock: Clock,
  hot: Pick<SeenStore, 'stagePlays' | 'getRingLayouts' | 'putRingLayout'>,
  shape: RingShape,
  stagedMax: number,
  fold: Fold['fold'],
  onError: (error: unknown) => void,
  reward: (events: readonly RewardEvent[]) => void = () => {},
  onStaged: (plays: readonly Play[]) => void = () => {},
): Staging {
  const waiting = new Map<string, { slot: number; viewer: ViewerId }>()
  /** Viewers, with slots, who are not folded again in this hour. */
  const lasting = new Set<string>()
  let lastingHour = 0
  let earlyFolds = 0
  const worker = makeWorker(clock, work, () => undefined, onError)
  let announced: Promise<void> | undefined
  let stopped = false

  /** Once per process; the next call repeats a failed one. */
  function announce(): Promise<void> {
    announced ??= announceShape(hot, shape, clock).catch((error: unknown) => {
      announced = undefined
      throw error
    })
    return announced
  }

  function foldEarly(slot: number, viewer: ViewerId): void {
    const hour = Math.floor(clock.now() / HOUR_MS)
    if (hour !== lastingHour) lasting.clear()
    lastingHour = hour
    if (stopped || waiting.size >= WAITING_MAX) return
    waiting.set(`${slot}:${viewer}`, { slot, viewer })
    void worker.wake()
  }

  async function work(): Promise<void> {
    for (const [text, { slot, viewer }] of waiting) {
      if (stopped) return
      waiting.delete(text)
      if (lasting.has(text)) continue
      try {
        const { failed } = await fold(slot, [viewer])
        if (lasting.size < WAITING_MAX && failed.some(isLasting)) lasting.add(text)
        if (failed[0] !== undefined) throw failed[0].error
        earlyFolds++
      } catch (error) {
        // The slot's own run folds the viewer or, if that may help, the next play beyond the limit.
        onError(error)
      }
    }
  }

  /** A viewer at the limit is folded, if possible by now, so that plays are not refused until the hour is over. */
  async function stageIn(slot: number, plays: readonly PlayWrite[], now: number, max: number | undefined): Promise<StagedCount[]> {
    try {
      return await hot.stagePlays(plays, { now, slot, max })
    } catch (error) {
      if (isTidemarkError(error) && error.code === 'PLAYS_TOO_MANY') for (const { viewer } of plays) foldEarly(slot, viewer)
      throw error
    }
  }

  return {
    async stage(plays, max) {
      if (plays.length === 0) return []
      await announce()
      const now = clock.now()
      const slot = slotOf(now, shape.slots)
      const earned: RewardEvent[] = []
      const counts = await stageIn(slot, plays, now, max)
      onStaged(plays)
      for (const { viewer, staged, firsts = [] } of counts) {
        if (staged > stagedMax) foldEarly(slot, viewer)
        for (const { business, day } of firsts) earned.push(rewardOf(viewer, business, day, 'FIRST_PLAY'))
      }
      reward(earned)
      return earned
    },
    figures: () => ({ earlyFolds, earlyWaiting: waiting.size }),
    async stop() {
      stopped = true
      await worker.stop()
    },
  }
}

function isLasting({ error }: { error: unknown }): boolean {
  return isTidemarkError(error) && LASTING.has(error.code)
}
