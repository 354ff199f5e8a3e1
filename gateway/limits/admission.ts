/**
 * Bounds the operations that run at once in one process, in points of operation cost: an operation holds memory in proportion to its cost
 * until it is answered. Further operations wait. Callers take turns, so a caller that sends many large operations waits only for its own
 * operations. If the queue is full, the caller with the most waiting points gives way: its newest operation is refused, so that one caller
 * cannot fill the queue. Small operations have their own lane with as much room again, so they never wait behind large ones.
 */
import { makeCostRoom } from './cost-room.ts'

export type Admission = {
  /** Resolves with a function to call when the operation has ended. Resolves with undefined if the operation is refused. */
  enter(caller: string, cost: number): Promise<(() => void) | undefined>
}

export type AdmissionOptions = {
  /** Points that run at once in each lane. An operation that costs more runs alone in its lane. */
  readonly pointsMax: number
  /** Points that may wait in each lane. One caller may use half of them. */
  readonly waitingMax: number
  /** An operation is small up to this many points. */
  readonly smallMax: number
}

type Waiting = { readonly cost: number; readonly begin: () => void; readonly refuse: () => void }
type Queue = { points: number; readonly waiting: Waiting[] }

export function makeAdmission({ pointsMax, waitingMax, smallMax }: AdmissionOptions): Admission {
  const small = makeLane(pointsMax, waitingMax)
  const large = makeLane(pointsMax, waitingMax)
  return { enter: (caller, cost) => (cost <= smallMax ? small : large).enter(caller, Math.max(1, cost)) }
}

function makeLane(pointsMax: number, waitingMax: number): Admission {
  const room = makeCostRoom(pointsMax, letIn)
  let waitingPoints = 0
  /** In the order of their turns: a Map keeps insertion order. */
  const queues = new Map<string, Queue>()

  function letIn(): void {
    for (const [caller, queue] of queues) {
      const [next] = queue.waiting
      if (next === undefined || !room.has(next.cost)) return
      queue.waiting.shift()
      queue.points -= next.cost
      waitingPoints -= next.cost
      queues.delete(caller)
      if (queue.waiting.length > 0) queues.set(caller, queue)
      next.begin()
    }
  }

  /** Refuses the newest operations of callers with more than `points` waiting, until `cost` has room. Returns false if it gets no room. */
  function makeRoom(cost: number, points: number): boolean {
    while (waitingPoints + cost > waitingMax) {
      let most: [string, Queue] | undefined
      for (const entry of queues) if (most === undefined || entry[1].points > most[1].points) most = entry
      if (most === undefined || most[1].points <= points) return false
      const [caller, queue] = most
      const newest = queue.waiting.pop() as Waiting
      queue.points -= newest.cost
      waitingPoints -= newest.cost
      if (queue.waiting.length === 0) queues.delete(caller)
      newest.refuse()
    }
    return true
  }

  return {
    enter(caller, cost) {
      if (queues.size === 0 && room.has(cost)) return Promise.resolve(room.begin(cost))
      const points = (queues.get(caller)?.points ?? 0) + cost
      if (points > waitingMax / 2 || !makeRoom(cost, points)) return Promise.resolve(undefined)
      const mine = queues.get(caller) ?? { points: 0, waiting: [] }
      mine.points = points
      waitingPoints += cost
      queues.set(caller, mine)
      return new Promise((resolve) => mine.waiting.push({ cost, begin: () => resolve(room.begin(cost)), refuse: () => resolve(undefined) }))
    },
  }
}
