/**
 * A queue that runs work by its cost: the running work costs `costMax` at most in total, but one work alone may cost anything. The order is
 * first come, first served. Heavy queries of one client run one after the other, and light queries run together.
 */
import { makeCostRoom } from './cost-room.ts'

export type CostQueue = {
  /** Returns the function that ends the work, or a promise of it if the work has to wait. Calling it again has no effect. */
  enter(cost: number): Promise<() => void> | (() => void)
}

export function makeCostQueue(costMax: number): CostQueue {
  const waiting: { cost: number; begin: () => void }[] = []
  const room = makeCostRoom(costMax, () => {
    for (let next = waiting[0]; next !== undefined && room.has(next.cost); next = waiting[0]) {
      waiting.shift()
      next.begin()
    }
  })

  return {
    enter(given) {
      const cost = Math.max(1, given)
      if (waiting.length === 0 && room.has(cost)) return room.begin(cost)
      return new Promise((resolve) => waiting.push({ cost, begin: () => resolve(room.begin(cost)) }))
    },
  }
}
