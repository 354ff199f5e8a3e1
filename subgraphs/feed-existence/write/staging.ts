/**
 * Stages plays, wherever they come from: a request, or the log. A viewer whose slot overflows is folded at once, behind the
 * answer, so that what is staged stays small: it is read with every `unseen`.
 *
 * The slot is that of this server's hour, never of `playedAt`: so a slot has come to rest when its hour is over.
 *
 * A fold that fails for what a viewer has, not for a store, fails with each of his plays, and takes as long as his filters are
 * large. So it is tried once in an hour: the job has him when that is over.
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
   * The rewards that these plays earned, which are on their way. Rejects with HOT_STORE_UNAVAILABLE, STORE_FULL; with `max`, what a
   * viewer may have staged in the hour, with PLAYS_TOO_MANY. What was acknowledged before is staged without it.
   */
  stage(plays: readonly PlayWrite[], max?: number): Promise<RewardEvent[]>
  /** Early folds, and how many are waiting. */
  figures(): { earlyFolds: number; earlyWaiting: number }
  /** Waits for what is being folded, and begins nothing more. */
  stop(): Promise<void>
}

/** Viewers who may wait; the next play of one who finds no room asks again. */
const WAITING_MAX = 10_000
/** Codes of folds that fail again: his filter has no room left, or a newer version of us wrote it. */
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
  /** Who is folded no more in this hour, with his slot. */
  const lasting = new Set<string>()
  let lastingHour = 0
  let earlyFolds = 0
  const worker = makeWorker(clock, work, () => undefined, onError)
  let announced: Promise<void> | undefined
  let stopped = false

  /** Once per process; one that failed is tried again by the next. */
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
        // The slot's own run folds him, or, where that may help, the next play that is one too many.
        onError(error)
      }
    }
  }

  /** Whoever has too much is folded, if that is possible by now: so that he is not refused until the hour is over. */
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
