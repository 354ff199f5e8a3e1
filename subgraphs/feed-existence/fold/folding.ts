/**
 * The runs of a job. When an hour has ended, its slot is folded, and that of the hour before once more. A run takes every settled slot in
 * three cases: it is the first of a worker, the run before it left something, or the worker owns a new region. A run is a list of slots and
 * shards in the regions that this worker owns, each folded once. A later round of the same hour takes shards that failed or were newly
 * assigned. Everything that all runs leave is folded when the ring comes round.
 *
 * A shard for which a store does not answer is skipped, and comes last in the next round. One viewer who is too heavy for a store therefore
 * delays no other. Several failures in a row end the round, since the store is down. If a shard's fold fails for another reason, its
 * viewers are folded one by one, so that only the viewers at fault are left.
 *
 * Two workers may fold the same shard, during a rebalance or if a worker was started twice. The fold allows that.
 */
import type { Clock } from '../../../core/clock.ts'
import { endsRound } from './filter-changes.ts'
import type { Fold } from './fold.ts'
import { HOUR_MS, dueSlots, regionOfShard, settledSlots } from '../model/time-ring.ts'
import { makePortions } from '../../../core/event-loop-yield.ts'
import { chunked } from '../../../stores/chunks.ts'
import type { RingShape, SeenStore } from '../stores/hot-store.ts'
import { shapesOf } from './layouts.ts'
import { makeShardFold, type ShardFoldFigures } from './shard-fold.ts'

export type FoldingOptions = {
  /** The shape of this worker's settings. Other shapes are found in the store. */
  shape: RingShape
  regions: number
  /** Milliseconds after the end of an hour at which the fold of its slot begins. */
  settleMs: number
  /** Viewers per step. */
  keysMax: number
  /** Concurrent steps. */
  foldsAtOnce: number
  /** Resolves in a later turn of the event loop, for all other work to go on. */
  nextTurn: () => Promise<void>
}

export type FoldingFigures = ShardFoldFigures & {
  /** Runs begun, the hour of the last run (since the epoch), the shards it has left, and the duration of the last complete run. */
  runs: number
  runHour: number
  shardsLeft: number
  runMs: number
  /** The newest hour (since the epoch) without remaining shards in this worker's regions; -1: none yet. */
  foldedHour: number
  /** Completed and failed shards. */
  shards: number
  shardsFailed: number
}

export type Folding = {
  /**
   * Does the due work of this hour that is not done yet. Rejects with the error of a store that did not answer; the next round continues.
   */
  round(mayGoOn?: () => boolean): Promise<void>
  figures(): FoldingFigures
}

/** `late`: covers all settled slots, also under shapes that are no longer in use. */
type Run = { late: boolean; tasks: Task[] }
/** `failed`: shards for which a store did not answer in this run. */
type Task = { slot: number; shards: number; done: Uint8Array; failed: Uint8Array }
/** The failures of a round. */
type Outage = { inARow: number; error?: unknown }

/** Consecutive shards without an answer from a store that end a round. */
const FAILED_MAX = 3
/** LMDB answers without a turn of the event loop. */
const SHARDS_PER_TURN = 32
/** Most shards have no viewers, and the first run of a worker has 25,000. One call therefore asks for many which of them have any. */
const SHARDS_PER_CALL = 1_000

export function makeFolding(
  clock: Clock,
  hot: Pick<SeenStore, 'filledShards' | 'listRing' | 'getRingLayouts'>,
  fold: Fold['fold'],
  ownedRegions: () => readonly number[],
  options: FoldingOptions,
  onError: (error: unknown) => void,
): Folding {
  const { shape, regions, settleMs, keysMax, foldsAtOnce, nextTurn } = options
  const figures = { runs: 0, runHour: 0, shardsLeft: 0, runMs: 0, foldedHour: -1, shards: 0, shardsFailed: 0 }
  const shardFold = makeShardFold(hot, fold, keysMax, onError)
  let hour: number | undefined
  let run: Run = { late: false, tasks: [] }
  /** Regions whose settled slots were all examined once since this worker owns them. */
  let walked: ReadonlySet<number> = new Set()
  let begunAt = 0
  /** The value before the current run. With regions of other workers, fewer hours may be complete. */
  let foldedBefore = -1
  const turnFor = makePortions(nextTurn, SHARDS_PER_TURN)

  async function round(mayGoOn: () => boolean = () => true): Promise<void> {
    const settled = clock.now() - settleMs
    const current = Math.floor(settled / HOUR_MS)
    if (current !== hour) {
      // After downtime, after an incomplete run, and when a region is newly assigned, all settled slots are due: the previous owner may not
      // have folded them.
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
    // A copy from the beginning of the round, so that no shard is tried twice in it.
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

  async function workOn(task: Task, open: readonly number[], mayGoOn: () => boolean, outage: Outage): Promise<void> {
    for (const some of chunked(open, SHARDS_PER_CALL)) {
      if (!mayGoOn()) return
      await foldFilled(task, await filledOf(task, some), mayGoOn, outage)
    }
  }

  /** The shards with viewers. The others are done. */
  async function filledOf({ slot, done }: Task, open: readonly number[]): Promise<number[]> {
    // A part of the store that is down is noted for its shards alone, when they are listed.
    const filled = await hot.filledShards(slot, open).catch(() => [...open])
    const empty = new Set(open)
    for (const shard of filled) empty.delete(shard)
    for (const shard of empty) done[shard] = 1
    figures.shardsLeft -= empty.size
    figures.shards += empty.size
    return filled
  }

  async function foldFilled({ slot, done, failed }: Task, open: readonly number[], mayGoOn: () => boolean, outage: Outage): Promise<void> {
    let next = 0
    async function work(): Promise<void> {
      while (next < open.length && mayGoOn()) {
        const shard = open[next++] as number
        await turnFor(1)
        // If the region has moved to another worker, that worker folds the shard.
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

/** The remaining shards of a task in these regions. */
function openOf({ shards, done }: Task, own: readonly number[], regions: number): number[] {
  const all = own.flatMap((region) => Array.from({ length: shards / regions }, (_, at) => region + regions * at))
  return all.filter((shard) => done[shard] === 0)
}
