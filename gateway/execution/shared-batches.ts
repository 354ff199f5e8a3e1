/**
 * Fetches that start together often need the same representations of the same objects: a feed asks three subgraphs about its videos. The
 * first of these fetches makes the batch, and the others use it.
 *
 * Local subgraphs get the representations themselves, not copies, and must not write into them.
 *
 * A fetch that starts later must not use the batch, because the data may have changed. A local fetch may add fields to these objects while the
 * other fetches start. The other fetches do not require these fields, and the objects stay in place, so the batch stays valid.
 */
import type { Run } from './run.ts'

type Collect<Batch> = (run: Run) => Batch

export type SharedBatches<Batch> = {
  /** `inputs`: everything that determines the batch of a run. */
  share(inputs: unknown, collect: Collect<Batch>): Collect<Batch>
  /**
   * Call it after all fetches are compiled. Returns `forget`, which drops the batches. Call `forget` after all fetches of a run have started, or
   * after one of them has thrown.
   */
  seal(): () => void
}

export function makeSharedBatches<Batch>(): SharedBatches<Batch> {
  const slots: { run: Run | undefined; batch: Batch | undefined }[] = []
  // `seal` clears this map, because the keys may be long.
  const byInputs = new Map<string, (typeof slots)[number]>()
  return {
    share(inputs, collect) {
      const key = JSON.stringify(inputs)
      let known = byInputs.get(key)
      if (known === undefined) {
        known = { run: undefined, batch: undefined }
        byInputs.set(key, known)
        slots.push(known)
      }
      const slot = known
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
        // The slots are reset one by one. V8 may keep the values of a cleared map until the next full collection (decision 0112).
        for (const slot of slots) slot.run = slot.batch = undefined
      }
    },
  }
}
