/**
 * Folds one shard of a slot: lists its viewers from the ring, a page at a time, and folds each page. If the fold of a page fails for a
 * reason other than a store that is down, its viewers are folded one by one.
 */
import type { ViewerId } from '../../../core/domain.ts'
import type { SeenStore } from '../stores/hot-store.ts'
import { endsRound } from './filter-changes.ts'
import type { Fold, FoldReport } from './fold.ts'

export type ShardFoldFigures = Omit<FoldReport, 'failed' | 'held'> & {
  /** Viewers folded, viewers whose fold failed. */
  viewers: number
  viewersFailed: number
}

export type ShardFold = {
  foldShard(slot: number, shard: number): Promise<boolean>
  figures(): ShardFoldFigures
}

export function makeShardFold(
  hot: Pick<SeenStore, 'listRing'>,
  fold: Fold['fold'],
  keysMax: number,
  onError: (error: unknown) => void,
): ShardFold {
  const figures: ShardFoldFigures = { viewers: 0, viewersFailed: 0, plays: 0, writes: 0, refused: 0, closed: 0, quarantined: 0 }

  /**
   * Folds each viewer once, a page at a time. Two kinds of viewers stay in the ring and are skipped until the next run: those whose fold
   * fails, and those who come into the settled slot from a server whose clock is behind. True if there were any viewers: then the stores
   * answer.
   */
  async function foldShard(slot: number, shard: number): Promise<boolean> {
    const worked = new Set<ViewerId>()
    let held: unknown
    for (let limit = keysMax; ;) {
      const listed = await hot.listRing(slot, shard, limit)
      const viewers = listed.filter((viewer) => !worked.has(viewer)).slice(0, keysMax)
      if (viewers.length > 0) {
        const waits = await foldPage(slot, viewers)
        for (const viewer of viewers) worked.add(viewer)
        held ??= waits
      }
      if (listed.length < limit) break
      if (viewers.length === 0) limit += keysMax
    }
    // Viewers who wait for the legacy store are retried in the next round; other viewers do not wait with them.
    if (held !== undefined) throw held
    return worked.size > 0
  }

  /** The reason why some viewers wait for the legacy store; undefined if none does. Rejects if a store does not answer. */
  async function foldPage(slot: number, viewers: readonly ViewerId[]): Promise<unknown> {
    let report: FoldReport
    try {
      report = await fold(slot, viewers)
    } catch (error) {
      if (endsRound(error)) throw error
      if (viewers.length > 1) {
        const held: unknown[] = []
        for (const viewer of viewers) held.push(await foldPage(slot, [viewer]))
        return held.find((each) => each !== undefined)
      }
      const failed = viewers.map((viewer) => ({ viewer, error }))
      report = { plays: 0, writes: 0, refused: 0, closed: 0, quarantined: 0, failed }
    }
    for (const { error } of report.failed) onError(error)
    count(report, viewers.length)
    return report.held
  }

  function count(report: FoldReport, viewers: number): void {
    for (const name of ['plays', 'writes', 'refused', 'closed', 'quarantined'] as const) figures[name] += report[name]
    const failed = new Set(report.failed.map(({ viewer }) => viewer)).size
    figures.viewers += viewers - failed
    figures.viewersFailed += failed
  }

  return { foldShard, figures: () => ({ ...figures }) }
}
