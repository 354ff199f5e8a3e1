/** The partitions of a topic, counted at the start and after each rebalance: partitions may have been added since. */
import { type Clock, sleep } from '../../core/clock.ts'

export type PartitionCount = {
  /** 0 until the first count succeeds. */
  current(): number
  /** Counts again. The first count is repeated until it succeeds, and a later one keeps the last result. */
  refresh(): Promise<void>
}

/** `atFirst`: the result at the start, 0 if unknown. `stopping` resolves when the count is no longer needed. */
export function makePartitionCount(
  atFirst: number,
  countPartitions: () => Promise<number>,
  clock: Clock,
  stopping: Promise<void>,
  delayAfter: (failures: number) => number,
): PartitionCount {
  let partitions = atFirst
  let isStopped = false
  void stopping.then(() => {
    isStopped = true
  })

  return {
    current: () => partitions,
    async refresh() {
      for (let failures = 0; !isStopped; failures++) {
        try {
          partitions = await countPartitions()
          return
        } catch {
          if (partitions > 0) return
          await Promise.race([sleep(clock, delayAfter(failures)), stopping])
        }
      }
    },
  }
}
