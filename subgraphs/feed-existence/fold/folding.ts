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
import { endsRound } from './filter-changes.ts'
import type { Fold } from './fold.ts'
import { HOUR_MS, dueSlots, regionOfShard, settledSlots } from '../model/time-ring.ts'
import { makePortions, makeTurns } from '../../../core/event-loop-yield.ts'
import type { RingShape, SeenStore } from '../stores/hot-store.ts'
import { shapesOf } from './layouts.ts'
import { makeShardFold, type ShardFoldFigures } from './shard-fold.ts'

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

export type FoldingFigures = ShardFoldFigures & {
  /** Runs begun, of which hour (since the epoch) the last one is, and what it has left; how long the last one took that left nothing. */
  runs: number
  runHour: number
  shardsLeft: number
  runMs: number
  /** The newest hour (since the epoch) of which no shard of this worker's regions is left; -1: none yet. */
  foldedHour: number
  /** Shards worked through, shards that could not be. */
  shards: number
  shardsFailed: number
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
  const figures = { runs: 0, runHour: 0, shardsLeft: 0, runMs: 0, foldedHour: -1, shards: 0, shardsFailed: 0 }
  const shardFold = makeShardFold(hot, fold, keysMax, onError)
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
      run = await planRun(hot, shape, settled, hour !== current - 1 || figures.shardsLeft > 0 || hasNewRegion)
      hour = figures.runHour = current
      begunAt = clock.now()
      foldedBefore = figures.foldedHour
      figures.runs++
    }
    const own = ownedRegions()
    const open = run.tasks.map((task) => openOf(task, own, regions))
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

  async function workOn({ slot, done, failed }: Task, open: readonly number[], mayGoOn: () => boolean, outage: Outage): Promise<void> {
    let next = 0
    async function work(): Promise<void> {
      while (next < open.length && mayGoOn()) {
        const shard = open[next++] as number
        await turnFor(1)
        // It may have gone to another worker meanwhile, who does it.
        if (!ownedRegions().includes(regionOfShard(shard, regions))) continue
        try {
          if (await shardFold.foldShard(slot, shard)) outage.inARow = 0
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

  return { round, figures: () => ({ ...shardFold.figures(), ...figures }) }
}

async function planRun(hot: Pick<SeenStore, 'getRingLayouts'>, shape: RingShape, now: number, late: boolean): Promise<Run> {
  const { live, old } = shapesOf(await hot.getRingLayouts(), shape, now)
  const due = live.flatMap(({ slots, shards }) => (late ? settledSlots : dueSlots)(now, slots).map((slot) => ({ slot, shards })))
  const left = late ? old.flatMap(({ slots, shards }) => Array.from({ length: slots }, (_, slot) => ({ slot, shards }))) : []
  return {
    late,
    tasks: [...due, ...left].map(({ slot, shards }) => ({ slot, shards, done: new Uint8Array(shards), failed: new Uint8Array(shards) })),
  }
}

/** What is left of a task in these regions. */
function openOf({ shards, done }: Task, own: readonly number[], regions: number): number[] {
  const all = own.flatMap((region) => Array.from({ length: shards / regions }, (_, at) => region + regions * at))
  return all.filter((shard) => done[shard] === 0)
}
