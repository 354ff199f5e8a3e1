/** Events that wait while the change feed is active, in the order of their arrival. Beyond `countsMax` the oldest are lost. */
import type { Clock } from '../../../core/clock.ts'
import { sizeOf, type CountChanges } from './count-feed.ts'
import type { Downstream } from './downstream.ts'

/** The most changes that go downstream from the buffer in one call. */
const CHUNK = 1_000

/** `coveredUntil`: the time up to which the change feed has read. It covers all events that arrived before. */
export function makeEventBuffer(clock: Clock, countsMax: number, coveredUntil: () => number) {
  let waiting: { arrivedAt: number; changes: CountChanges }[] = []
  let count = 0
  /** The arrival time of the last event that was lost for lack of room. */
  let lostAt = -1
  let isPassing = false

  function add(changes: CountChanges): void {
    waiting.push({ arrivedAt: clock.now(), changes })
    count += sizeOf(changes)
    if (count > countsMax) trim()
    while (count > countsMax) {
      const { arrivedAt, changes: lost } = waiting.shift() as (typeof waiting)[number]
      lostAt = arrivedAt
      count -= sizeOf(lost)
    }
  }

  /** Drops events that the change feed has covered. */
  function trim(): void {
    const readUntil = coveredUntil()
    const kept = waiting.findIndex(({ arrivedAt }) => arrivedAt >= readUntil)
    const gone = waiting.splice(0, kept === -1 ? waiting.length : kept)
    for (const { changes } of gone) count -= sizeOf(changes)
  }

  /** Changes that `pass` rejects stay in the buffer for the next call. */
  async function passTo(pass: (changes: CountChanges) => Promise<void>): Promise<void> {
    while (waiting.length > 0) {
      let taken = 0
      for (let size = 0; taken < waiting.length && size < CHUNK; taken++)
        size += sizeOf((waiting[taken] as (typeof waiting)[number]).changes)
      const some = waiting.slice(0, taken).map(({ changes }) => changes)
      await pass({ counts: some.flatMap(({ counts }) => counts), owners: some.flatMap(({ owners }) => owners) })
      waiting = waiting.slice(taken)
      for (const changes of some) count -= sizeOf(changes)
    }
  }

  /** Queues the whole buffer for downstream, unless that is under way. */
  function passInTurn({ oneByOne, pass }: Pick<Downstream, 'oneByOne' | 'pass'>): void {
    if (isPassing || waiting.length === 0) return
    isPassing = true
    const end = () => {
      isPassing = false
    }
    oneByOne(() => passTo(pass)).then(end, end)
  }

  return { add, trim, passTo, passInTurn, isEmpty: () => waiting.length === 0, count: () => count, lostAt: () => lostAt }
}
