/**
 * Room for work by its cost: running work costs `costMax` at most in total, but one work alone may cost anything. Queues for that room
 * decide about the order.
 */
import { once } from '../../core/once.ts'

export type CostRoom = {
  has(cost: number): boolean
  /** Returns the function that ends the work. */
  begin(cost: number): () => void
}

/** `freed` runs whenever work has ended. */
export function makeCostRoom(costMax: number, freed: () => void): CostRoom {
  let underWay = 0
  return {
    has: (cost) => underWay === 0 || underWay + cost <= costMax,
    begin(cost) {
      underWay += cost
      return once(() => {
        underWay -= cost
        freed()
      })
    },
  }
}
