/**
 * Stored data of some items of a call that cannot be decoded. The error names these items, so that all other items of the call are still
 * answered. A leaf.
 */
import { saysDamaged, TidemarkError } from '../errors.ts'
import { inTwo } from './part-outage.ts'

/** The error says nothing about other items of the call: nothing was done for them either. */
export abstract class DamagedData<K> extends TidemarkError {
  constructor(message: string, cause: unknown) {
    super('DATA_DAMAGED', message, { cause })
  }

  abstract concerns(item: K): boolean
}

/** For readers of many items: they read all items, and then throw one error for all damaged ones. `cause`: the damage of the first of them. */
export function makeDamageGatherer<K>(errorFor: (damaged: readonly K[], cause: unknown) => DamagedData<K>) {
  const damaged: K[] = []
  let first: unknown

  function note(item: K, error: unknown): void {
    first ??= error
    damaged.push(item)
  }

  return {
    note,
    /** Undefined if the data of this item is damaged. */
    read<T>(item: K, task: () => T): T | undefined {
      try {
        return task()
      } catch (error) {
        if (!saysDamaged(error)) throw error
        note(item, error)
        return undefined
      }
    },
    throwIfAny(): void {
      if (damaged.length > 0) throw errorFor(damaged, first)
    },
  }
}

/**
 * Runs the task for all items. If it fails because the data of some items is damaged, it runs again without those. Answers in the order of
 * the items, with the error for each damaged one. The task must be repeatable.
 */
export async function apartIfDamaged<K, V>(
  items: readonly K[],
  task: (items: readonly K[]) => Promise<readonly V[]>,
): Promise<readonly (V | DamagedData<K>)[]> {
  try {
    return await task(items)
  } catch (error) {
    if (!(error instanceof DamagedData) || !items.some((item) => error.concerns(item))) throw error
    return inTwo<K, V | DamagedData<K>>(
      items,
      (item) => error.concerns(item),
      async (damaged) => damaged.map(() => error),
      async (others) => (others.length === 0 ? [] : apartIfDamaged(others, task)),
    )
  }
}
