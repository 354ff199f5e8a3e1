/**
 * Fetches that start together often need the same representations of the same objects: a feed asks three subgraphs about its videos. The
 * first of these fetches makes the batch, and the others use it.
 *
 * Local subgraphs get the representations themselves, not copies, and must not write into them.
 *
 * A later fetch must not use the batch, because the data may have changed meanwhile. While the fetches start, a local one may add fields to
 * the objects of the batch. No fetch that starts with it needs these fields, and the objects stay in their places.
 */
import type { Run } from './run.ts'

type Collect<Batch> = (run: Run) => Batch

export type SharedBatches<Batch> = {
  /** `inputs`: everything that determines the batch of a run. */
  share(inputs: unknown, collect: Collect<Batch>): Collect<Batch>
  /** Called when all fetches are compiled. Returns a function that is called when all of them have started. */
  seal(): () => void
}

export function makeSharedBatches<Batch>(): SharedBatches<Batch> {
  const slots: { run: Run | undefined; batch: Batch | undefined }[] = []
  // Only for compiling: the keys may be long.
  const byInputs = new Map<string, (typeof slots)[number]>()
  return {
    share(inputs, collect) {
      const key = JSON.stringify(inputs)
      const slot = byInputs.get(key) ?? { run: undefined, batch: undefined }
      if (!byInputs.has(key)) slots.push(slot)
      byInputs.set(key, slot)
      return (run) => {
        if (slot.run === run && slot.batch !== undefined) return slot.batch
        slot.batch = collect(run)
        slot.run = run
        return slot.batch
      }
    },
    seal() {
      byInputs.clear()
      return () => {
        // Not a map that is cleared in each run: V8 may keep its values until the next full collection (decision 0112).
        for (const slot of slots) slot.run = slot.batch = undefined
      }
    },
  }
}
