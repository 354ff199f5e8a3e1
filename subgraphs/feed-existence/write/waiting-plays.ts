/**
 * Plays that this process acknowledged while the hot store refused them. They are in the log, and here, so that reads of this process leave
 * them out from the acknowledgement on. Once the hot store accepts writes, they are staged from here, without waiting for the job. The job
 * stages them again from the log, which changes nothing.
 *
 * This memory ends with its process: the log has all plays. It is bounded; plays beyond the bound are only suspected, like those of other
 * processes (`backlog.ts`).
 */
import type { Clock } from '../../../core/clock.ts'
import { makeWorker } from '../../../core/worker.ts'
import type { BusinessNumber, Play, ViewerId } from '../../../core/domain.ts'
import { apartIfPartIsOut } from '../../../core/outage/part-outage.ts'

export type WaitingPlays = {
  /** Called with plays that the log has. */
  note(plays: readonly Play[]): void
  /**
   * The waiting plays of a viewer and business, with their times. To be read before the hot store: a play that leaves here is staged by
   * then, and a later read would find it in neither.
   */
  of(viewer: ViewerId, business: BusinessNumber): ReadonlyMap<string, number>
  /** Called when the hot store is back: stages the waiting plays. */
  wake(): void
  figures(): { waiting: number }
  /** Waits for the current attempt, and begins none. */
  stop(): Promise<void>
}

export type WaitingPlaysOptions = {
  /** Milliseconds between two attempts. */
  retryMs: number
  /** True if the hot store accepts this viewer's plays, as far as is known. */
  mayStage(viewer: ViewerId): boolean
}

/** About 15 MB with ids of 25 bytes. */
const PLAYS_MAX = 50_000
const BATCH = 500
const NONE: ReadonlyMap<string, number> = new Map()

export function makeWaitingPlays(
  clock: Clock,
  stage: (plays: readonly Play[]) => Promise<unknown>,
  { retryMs, mayStage }: WaitingPlaysOptions,
  onError: (error: unknown) => void,
): WaitingPlays {
  const byViewer = new Map<ViewerId, Map<BusinessNumber, Map<string, number>>>()
  let waiting = 0
  const worker = makeWorker(clock, work, () => (waiting > 0 ? retryMs : undefined), onError)

  function put({ viewer, business, oid, playedAt }: Play): void {
    const businesses = byViewer.get(viewer) ?? new Map<BusinessNumber, Map<string, number>>()
    const oids = businesses.get(business) ?? new Map<string, number>()
    const known = oids.get(oid)
    if (known === undefined && waiting >= PLAYS_MAX) return
    byViewer.set(viewer, businesses.set(business, oids.set(oid, Math.max(playedAt, known ?? 0))))
    if (known === undefined) waiting++
  }

  /** A play with a newer time stays. */
  function remove({ viewer, business, oid, playedAt }: Play): void {
    const businesses = byViewer.get(viewer)
    const oids = businesses?.get(business)
    if (oids?.get(oid) !== playedAt) return
    oids.delete(oid)
    waiting--
    if (oids.size === 0) businesses?.delete(business)
    if (businesses?.size === 0) byViewer.delete(viewer)
  }

  async function work(mayGoOn: () => boolean): Promise<void> {
    let batch: Play[] = []
    for (const viewer of [...byViewer.keys()]) {
      if (!mayStage(viewer)) continue
      batch.push(...playsOf(viewer))
      if (batch.length < BATCH) continue
      if (!mayGoOn() || !(await stageAll(batch))) return
      batch = []
    }
    if (batch.length > 0 && mayGoOn()) await stageAll(batch)
  }

  function playsOf(viewer: ViewerId): Play[] {
    return Array.from(byViewer.get(viewer) ?? [], ([business, oids]) =>
      Array.from(oids, ([oid, playedAt]) => ({ viewer, business, oid, playedAt })),
    ).flat()
  }

  /** False if nothing was staged, so that others need not be tried now. */
  async function stageAll(plays: readonly Play[]): Promise<boolean> {
    try {
      await apartIfPartIsOut(plays, async (some) => {
        await stage(some)
        some.forEach(remove)
        return some
      })
      return true
    } catch (error) {
      onError(error)
      return false
    }
  }

  return {
    note(plays) {
      plays.forEach(put)
      if (waiting > 0) worker.plan(retryMs)
    },
    of: (viewer, business) => {
      const oids = byViewer.get(viewer)?.get(business)
      // A copy, since plays that leave during the read of the hot store may be missing in its answer.
      return oids === undefined ? NONE : new Map(oids)
    },
    wake: () => void worker.wake(),
    figures: () => ({ waiting }),
    stop: worker.stop,
  }
}
