/**
 * A queue that runs work by its cost: the running work costs `costMax` at most in total, but one work alone may cost anything. The order is
 * first come, first served. Heavy queries of one client run one after the other, and light queries run together.
 */
export type CostQueue = {
  /** Returns the function that ends the work, or a promise of it if the work has to wait. Calling it again has no effect. */
  enter(cost: number): Promise<() => void> | (() => void)
}

export function makeCostQueue(costMax: number): CostQueue {
  const waiting: { cost: number; begin: () => void }[] = []
  let underWay = 0

  const hasRoom = (cost: number): boolean => underWay === 0 || underWay + cost <= costMax

  function begun(cost: number): () => void {
    underWay += cost
    let isEnded = false
    return () => {
      if (isEnded) return
      isEnded = true
      underWay -= cost
      for (let next = waiting[0]; next !== undefined && hasRoom(next.cost); next = waiting[0]) {
        waiting.shift()
        next.begin()
      }
    }
  }

  return {
    enter(given) {
      const cost = Math.max(1, given)
      if (waiting.length === 0 && hasRoom(cost)) return begun(cost)
      return new Promise((resolve) => waiting.push({ cost, begin: () => resolve(begun(cost)) }))
    },
  }
}
