/**
 * The shape of the ring, which the operator changes at run time. A new process has the newest shape. Running processes are restarted one by
 * one within some hours.
 */
import type { Random } from '../../../core/random.ts'
import { HOUR_MS } from '../../../subgraphs/feed-existence/model/time-ring.ts'
import type { RingShape } from '../../../subgraphs/feed-existence/stores/hot-store.ts'
import { makeDice } from '../dice.ts'
import type { Place, Placed } from '../places.ts'
import type { History } from '../history-of-events.ts'
import type { Scheduler } from '../scheduler.ts'
import { drawShape } from './draws.ts'
import type { SeenOperator } from './operator.ts'
import type { SeenProcess } from './process.ts'

/** The longest time from a change of the shape until all processes have it. */
const ROLLOUT_MAX_MS = 10 * HOUR_MS

export type Ring = ReturnType<typeof makeRing>

export function makeRing(random: Random, first: RingShape, { now }: Scheduler, history: History | undefined) {
  const { between } = makeDice(random)
  let shape = first
  /** Undefined before the first change. */
  let changedAt: number | undefined
  let slotsMax = first.slots
  return {
    shape: () => shape,
    wasChanged: () => changedAt !== undefined,
    /** The most slots that any shape had. */
    slotsMax: () => slotsMax,
    /** True if no process has the previous shape at that time. */
    isRolledOutBy: (time: number) => changedAt !== undefined && time > changedAt + ROLLOUT_MAX_MS,
    change(): void {
      if (changedAt !== undefined && now() < changedAt + ROLLOUT_MAX_MS) return
      shape = drawShape(between)
      slotsMax = Math.max(slotsMax, shape.slots)
      changedAt = now()
      history?.note(changedAt, `--- the ring shall have ${shape.slots} slots of ${shape.shards} shards`)
    },
  }
}

export type RollOut = (isAtOnce: boolean) => void

/** Restarts processes with an outdated shape or legacy setting: some of them, or all at once. */
export function makeRollOut(
  random: Random,
  ring: Ring,
  operator: SeenOperator,
  places: readonly Place<SeenProcess>[],
  { start, end }: Placed<SeenProcess, Place<SeenProcess>>,
): RollOut {
  const { chance } = makeDice(random)

  function isUpToDate({ shape: { slots, shards }, setting }: SeenProcess): boolean {
    const shape = ring.shape()
    return slots === shape.slots && shards === shape.shards && setting === (operator?.setting() ?? 'none')
  }

  return (isAtOnce) => {
    if (isAtOnce) operator?.killAll()
    for (const [index, place] of places.entries()) {
      const { process } = place
      if (process === undefined || isUpToDate(process)) continue
      if (!isAtOnce && !chance(0.02)) continue
      if (place.stopping !== 'begun') end(place, 'is restarted with other settings')
      if (place.process === undefined) start(place, index)
    }
  }
}
