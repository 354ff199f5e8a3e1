/**
 * One process's port to the model of the record store of marks (`harness/models/thumbup/record-store-model.ts`): each call is a
 * transaction, and happens at one instant that the gate chooses.
 */
import type { MarkRecords } from '../../../subgraphs/thumbup/stores/record-store.ts'
import { openModelMarkRecords } from '../../models/thumbup/record-store-model.ts'
import type { MarkRecordsState } from '../../models/thumbup/record-rows.ts'
import { atOnce, type Gate } from '../gate.ts'

export type MarkTransactionFaults = {
  /** Moves the offsets in a transaction of their own, before the rows. */
  movesOffsetsFirst?: boolean
}

const CHANGING: ReadonlySet<keyof MarkRecords> = new Set(['applyMarks', 'registerSubjects', 'archiveMarks', 'purgeUndone'])

/** `changed` is called after each call that may have changed something, before any other event. */
export function openSimulatedMarkRecords(
  state: MarkRecordsState,
  gate: Gate,
  faults: MarkTransactionFaults,
  changed: (name: keyof MarkRecords, args: readonly unknown[]) => void,
): MarkRecords {
  const model = openModelMarkRecords(state, (name, args, act) =>
    atOnce(gate, 'records', name, args, () => {
      const result = act()
      if (CHANGING.has(name)) changed(name, args)
      return result
    }),
  )
  const records: MarkRecords = { ...model, readsAtOnceMax: 2 }
  if (faults.movesOffsetsFirst !== true) return records
  return {
    ...records,
    async applyMarks(rows, offsets) {
      if (offsets.length > 0) await records.applyMarks([], offsets)
      return records.applyMarks(rows, [])
    },
  }
}
