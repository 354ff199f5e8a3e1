/** A change feed controlled by a test: it delivers changes, stalls, ends, or refuses to start. */
import type { CountChanges, CountFeed } from '../../subgraphs/thumbup/change-feed/count-feed.ts'

export type SimulatedFeed = CountFeed & {
  /** Delivers changes. Resolves when they were accepted, and rejects when they were rejected. */
  bring(changes: CountChanges): Promise<void>
  readTo(moment: number): void
  gap(sentence: string): void
  end(reason: Error): void
  /** The next starts reject with this reason; undefined: they succeed. */
  refuse(reason: Error | undefined): void
  starts(): number
  stops(): number
  isRunning(): boolean
}

export function makeSimulatedFeed(): SimulatedFeed {
  let onChanges: ((changes: CountChanges) => Promise<void>) | undefined
  let tellGap: (sentence: string) => void = () => undefined
  let ending: (reason: unknown) => void = () => undefined
  let refusal: Error | undefined
  let readUntil = 0
  let starts = 0
  let stops = 0
  return {
    async start(take, onGap = () => undefined) {
      starts++
      if (refusal !== undefined) throw refusal
      onChanges = take
      tellGap = onGap
      readUntil = 0
      const ended = new Promise<unknown>((resolve) => {
        ending = resolve
      })
      return {
        readUntil: () => readUntil,
        ended,
        async stop() {
          stops++
          onChanges = undefined
        },
      }
    },
    async bring(changes) {
      if (onChanges === undefined) throw new Error('this feed does not run')
      await onChanges(changes)
    },
    readTo(moment) {
      readUntil = moment
    },
    gap: (sentence) => tellGap(sentence),
    end(reason) {
      onChanges = undefined
      ending(reason)
    },
    refuse(reason) {
      refusal = reason
    },
    starts: () => starts,
    stops: () => stops,
    isRunning: () => onChanges !== undefined,
  }
}
