/**
 * Fetches that start together often need the same representations of the same objects: a feed asks three subgraphs about its videos. The
 * first of these fetches makes the batch, and the others use it.
 *
 * Local subgraphs get the representations themselves, not copies, and must not write into them.
 *
 * A later fetch must not use it, because the data may have changed meanwhile. Fetches that start together do not wait for each other, so none
 * of them needs what another one adds.
 */
import type { Run } from './run.ts'

export type SharedBatches<Batch> = {
  /** `inputs`: everything that determines the batch of a run. */
  share(inputs: unknown, collect: (run: Run) => Batch): (run: Run) => Batch
  /** Called when all fetches have started. */
  forget(): void
}

export function makeSharedBatches<Batch>(): SharedBatches<Batch> {
  const slots = new Map<string, { run: Run | undefined; batch: Batch | undefined }>()
  return {
    share(inputs, collect) {
      const key = JSON.stringify(inputs)
      const slot = slots.get(key) ?? { run: undefined, batch: undefined }
      slots.set(key, slot)
      return (run) => {
        if (slot.run === run && slot.batch !== undefined) return slot.batch
        slot.batch = collect(run)
        slot.run = run
        return slot.batch
      }
    },
    forget() {
      // Not `Map.clear`: V8 may keep what was cleared until the next full collection. That cost more than sharing saves (decision 0112).
      for (const slot of slots.values()) slot.run = slot.batch = undefined
    },
  }
}
