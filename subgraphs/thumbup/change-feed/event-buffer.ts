/** Events that wait while the change feed is active, in the order of their arrival. Beyond `countsMax` the oldest are lost. */
import type { Clock } from '../../../core/clock.ts'
import { sizeOf, type CountChanges } from './count-feed.ts'
import type { Downstream } from './downstream.ts'

/** Downstream gets at most this many at once from the buffer. */
const CHUNK = 1_000

/** `coveredUntil`: up to which moment the change feed has read. Events that arrived before are covered by it. */
export function makeEventBuffer(clock: Clock, countsMax: number, coveredUntil: () => number) {
  let waiting: { arrivedAt: number; changes: CountChanges }[] = []
  let count = 0
  /** When the last event had arrived for which there was no room. */
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

  /** What the primary has brought by itself needs not wait any longer. */
  function trim(): void {
    const readUntil = coveredUntil()
    const kept = waiting.findIndex(({ arrivedAt }) => arrivedAt >= readUntil)
    const gone = waiting.splice(0, kept === -1 ? waiting.length : kept)
    for (const { changes } of gone) count -= sizeOf(changes)
  }

  /** What `pass` rejects stays in the buffer, for the next time. */
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

  /** Passes everything on when it is its turn downstream, unless it is under way. */
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
