/**
 * The runs of a job. When an hour has ended, its slot is folded, and that of the hour before once more; the first run of a
 * worker, one after a run that left something, and the first one that has a region of another worker, take every slot that
 * has come to rest. A run is a list of slots and shards: those of the regions that this worker owns
 * are done one after the other, each once; what fails, or is gained from another worker meanwhile, is done by a later round
 * of the same hour. What all of them leave, for whatever reason, is found when the ring comes round.
 *
 * A shard that a store does not answer for is passed over, once more at the end of each round, so that one viewer who is too heavy
 * for a store holds up nobody else; several in a row end the round, as the store is down. Viewers of a shard whose fold fails for a
 * reason that nobody foresaw are folded each by himself, so that it is only who brings it about that is not.
 *
 * Two workers may do the same shard, while regions change hands or because one was started twice: the fold stands that.
 */
import type { Clock } from '../../../core/clock.ts'
import type { ViewerId } from '../../../core/domain.ts'
import { endsRound } from './filter-changes.ts'
import type { Fold, FoldReport } from './fold.ts'
import { HOUR_MS, dueSlots, regionOfShard, settledSlots } from '../model/time-ring.ts'
import { makePortions, makeTurns } from '../../../core/event-loop-yield.ts'
import type { RingShape, SeenStore } from '../stores/hot-store.ts'
import { shapesOf } from './layouts.ts'

export type FoldingOptions = {
  /** The shape of this worker's settings; others are found in the store. */
  shape: RingShape
  regions: number
  /** Milliseconds after the end of an hour from which on its slot is folded. */
  settleMs: number
  /** Viewers one step folds. */
  keysMax: number
  /** Steps under way at once. */
  foldsAtOnce: number
}

export type FoldingFigures = Omit<FoldReport, 'failed' | 'held'> & {
  /** Runs begun, of which hour (since the epoch) the last one is, and what it has left; how long the last one took that left nothing. */
  runs: number
  runHour: number
  shardsLeft: number
  runMs: number
  /** The newest hour (since the epoch) of which no shard of this worker's regions is left; -1: none yet. */
  foldedHour: number
  /** Shards worked through, shards that could not be, viewers folded, viewers whose fold failed. */
  shards: number
  shardsFailed: number
  viewers: number
  viewersFailed: number
}

export type Folding = {
  /** Does what is due and not yet done in this hour. Rejects with the error of a store that did not answer: the next round goes on. */
  round(mayGoOn?: () => boolean): Promise<void>
  figures(): FoldingFigures
}

/** `late`: of everything at rest, also under shapes that nobody uses any more. */
type Run = { late: boolean; tasks: Task[] }
/** `failed`: shards for which a store did not answer, in this run. */
type Task = { slot: number; shards: number; done: Uint8Array; failed: Uint8Array }
/** What a round had to pass over. */
type Outage = { inARow: number; error?: unknown }

/** So many shards in a row for which a store does not answer end a round. */
const FAILED_MAX = 3
/** Empty shards take microseconds each, and LMDB answers without a turn of the event loop: a worker's first run looks at ten thousand. */
const SHARDS_PER_TURN = 32

export function makeFolding(
  clock: Clock,
  hot: Pick<SeenStore, 'listRing' | 'getRingLayouts'>,
  fold: Fold['fold'],
  ownedRegions: () => readonly number[],
  options: FoldingOptions,
  onError: (error: unknown) => void,
): Folding {
  const { shape, regions, settleMs, keysMax, foldsAtOnce } = options
  const figures: FoldingFigures = {
    ...{ runs: 0, runHour: 0, shardsLeft: 0, runMs: 0, foldedHour: -1, shards: 0, shardsFailed: 0, viewers: 0, viewersFailed: 0 },
    ...{ plays: 0, writes: 0, refused: 0, closed: 0, quarantined: 0 },
  }
  let hour: number | undefined
  let run: Run = { late: false, tasks: [] }
  /** Regions of which everything at rest was looked at once, since this worker has them. */
  let walked: ReadonlySet<number> = new Set()
  let begunAt = 0
  /** As it was before the run under way: what it had folded may have become less, by regions of other workers. */
  let foldedBefore = -1
  const turnFor = makePortions(makeTurns(), SHARDS_PER_TURN)

  async function round(mayGoOn: () => boolean = () => true): Promise<void> {
    const settled = clock.now() - settleMs
    const current = Math.floor(settled / HOUR_MS)
    if (current !== hour) {
      // Of a worker that was away, or left something, all that has come to rest is due. So it is of a region that is new to it: who had it may have walked nothing.
      const hasNewRegion = ownedRegions().some((region) => !walked.has(region))
      run = await planRun(settled, hour !== current - 1 || figures.shardsLeft > 0 || hasNewRegion)
      hour = figures.runHour = current
      begunAt = clock.now()
      foldedBefore = figures.foldedHour
      figures.runs++
    }
    const own = ownedRegions()
    const open = run.tasks.map((task) => openOf(task, own))
    figures.shardsLeft = open.reduce((sum, { length }) => sum + length, 0)
    // As they were when the round began: so that none is done twice in it.
    const suspect = run.tasks.map(({ failed }) => failed.slice())
    const outage: Outage = { inARow: 0 }
    for (const isSuspect of [0, 1])
      for (const [place, task] of run.tasks.entries()) {
        const some = (open[place] ?? []).filter((shard) => suspect[place]?.[shard] === isSuspect)
        await workOn(task, some, () => outage.inARow < FAILED_MAX && mayGoOn(), outage)
      }
    walked = new Set(own.filter((region) => walked.has(region) || (run.late && figures.shardsLeft === 0)))
    if (own.length > 0) figures.foldedHour = figures.shardsLeft === 0 ? current - 1 : foldedBefore
    if (figures.shardsLeft === 0 && begunAt > 0) {
      figures.runMs = clock.now() - begunAt
      begunAt = 0
    }
    if (outage.error !== undefined) throw outage.error
  }

  async function planRun(now: number, late: boolean): Promise<Run> {
    const { live, old } = shapesOf(await hot.getRingLayouts(), shape, now)
    const due = live.flatMap(({ slots, shards }) => (late ? settledSlots : dueSlots)(now, slots).map((slot) => ({ slot, shards })))
    const left = late ? old.flatMap(({ slots, shards }) => Array.from({ length: slots }, (_, slot) => ({ slot, shards }))) : []
    return {
      late,
      tasks: [...due, ...left].map(({ slot, shards }) => ({ slot, shards, done: new Uint8Array(shards), failed: new Uint8Array(shards) })),
    }
  }

  /** What is left of a task in these regions. */
  function openOf({ shards, done }: Task, own: readonly number[]): number[] {
    const all = own.flatMap((region) => Array.from({ length: shards / regions }, (_, at) => region + regions * at))
    return all.filter((shard) => done[shard] === 0)
  }

  async function workOn({ slot, done, failed }: Task, open: readonly number[], mayGoOn: () => boolean, outage: Outage): Promise<void> {
    let next = 0
    async function work(): Promise<void> {
      while (next < open.length && mayGoOn()) {
        const shard = open[next++] as number
        await turnFor(1)
        // It may have gone to another worker meanwhile, who does it.
        if (!ownedRegions().includes(regionOfShard(shard, regions))) continue
        try {
          if (await foldShard(slot, shard)) outage.inARow = 0
          done[shard] = 1
          figures.shardsLeft--
          figures.shards++
        } catch (error) {
          figures.shardsFailed++
          if (endsRound(error)) {
            failed[shard] = 1
            outage.inARow++
            outage.error = error
          } else onError(error)
        }
      }
    }
    await Promise.all(Array.from({ length: Math.min(foldsAtOnce, open.length) }, work))
  }

  /**
   * Each viewer once, a page at a time: whoever cannot be folded stays in the ring and is passed over, until the next run. So
   * does who comes into a slot at rest, from a server whose clock is behind. True if anybody was there: then the stores answer.
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
    // Who waits for the legacy store is tried again soon, in the next round; nobody else waits with him.
    if (held !== undefined) throw held
    return worked.size > 0
  }

  /** Why some of them wait for the legacy store; undefined: none does. Rejects if a store does not answer. */
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

  return { round, figures: () => ({ ...figures }) }
}
