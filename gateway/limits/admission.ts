/**
 * Bounds the operations that run at once in one process, in points of operation cost: an operation holds memory in proportion to its cost
 * until it is answered. Further operations wait. Addresses take turns, so a caller that sends many large operations waits only for its own
 * operations. Small operations have as much room again, and do not wait behind large ones.
 */
export type Admission = {
  /** Resolves with a function to call when the operation has ended. Resolves with undefined if the queue is full. */
  enter(address: string, cost: number): Promise<(() => void) | undefined>
}

export type AdmissionOptions = {
  /** Points that run at once. An operation that costs more runs alone. */
  readonly pointsMax: number
  /** Points that may wait. One address may use half of them. */
  readonly waitingMax: number
  /** An operation is small up to this many points. */
  readonly smallMax: number
}

type Waiting = { readonly cost: number; readonly begin: () => void }
type Queue = { points: number; readonly waiting: Waiting[] }

export function makeAdmission({ pointsMax, waitingMax, smallMax }: AdmissionOptions): Admission {
  let underWay = 0
  let waitingPoints = 0
  /** In the order of their turns: a Map keeps insertion order. */
  const queues = new Map<string, Queue>()

  function fits(cost: number): boolean {
    return underWay === 0 || underWay + cost <= (cost <= smallMax ? 2 * pointsMax : pointsMax)
  }

  function begin(cost: number): () => void {
    underWay += cost
    let ended = false
    return () => {
      if (ended) return
      ended = true
      underWay -= cost
      letIn()
    }
  }

  function letIn(): void {
    for (const [address, queue] of queues) {
      const [next] = queue.waiting
      if (next === undefined || !fits(next.cost)) return
      queue.waiting.shift()
      queue.points -= next.cost
      waitingPoints -= next.cost
      queues.delete(address)
      if (queue.waiting.length > 0) queues.set(address, queue)
      next.begin()
    }
  }

  return {
    enter(address, cost) {
      const queue = queues.get(address)
      if (queue === undefined && fits(cost) && (queues.size === 0 || cost <= smallMax)) return Promise.resolve(begin(cost))
      const mine = queue ?? { points: 0, waiting: [] }
      if (waitingPoints + cost > waitingMax || mine.points + cost > waitingMax / 2) return Promise.resolve(undefined)
      mine.points += cost
      waitingPoints += cost
      queues.set(address, mine)
      return new Promise((resolve) => mine.waiting.push({ cost, begin: () => resolve(begin(cost)) }))
    },
  }
}
