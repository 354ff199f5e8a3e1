/**
 * Marks that cannot be read because a block of the archive is damaged. A block belongs to one viewer, and the error names the viewer. All
 * other viewers of the same call are still persisted and answered.
 */
import type { BusinessNumber, ViewerId } from '../../../core/domain.ts'
import { TidemarkError, saysDamaged } from '../../../core/errors.ts'
import { inTwo } from '../../../core/outage/part-outage.ts'

type Owner = { viewer: ViewerId; business: BusinessNumber }

/** It tells nothing about other viewers of the call: nothing was done for them either. */
export class DamagedMarks extends TidemarkError {
  readonly owners: readonly Owner[]
  /** `owners`: at least one. `cause`: the damage of a block of the first owner. */
  constructor(owners: readonly Owner[], cause: unknown) {
    const [{ viewer, business } = { viewer: '', business: 0 }, ...others] = owners
    const marks = `marks of viewer "${viewer}" in business ${business}${others.length === 0 ? '' : ` (and of ${others.length} more)`}`
    super('DATA_DAMAGED', `${marks} cannot be read: ${cause instanceof Error ? cause.message : String(cause)}`, { cause })
    this.owners = owners
  }

  concerns({ viewer, business }: Owner): boolean {
    return this.owners.some((owner) => owner.viewer === viewer && owner.business === business)
  }
}

/** For readers of many viewers' blocks: reads all blocks, then throws one error for all viewers with damaged ones. */
export function gatherDamage() {
  const owners: Owner[] = []
  let first: unknown
  return {
    /** Undefined if a block of this owner is damaged. */
    read<T>({ viewer, business }: Owner, task: () => T): T | undefined {
      try {
        return task()
      } catch (error) {
        if (!saysDamaged(error)) throw error
        first ??= error
        owners.push({ viewer, business })
        return undefined
      }
    },
    throwIfAny(): void {
      if (owners.length > 0) throw new DamagedMarks(owners, first)
    },
  }
}

/**
 * Runs the task for all items. If it fails because some items have damaged blocks, it runs again without those. Answers in the order of the
 * items, with the error for each damaged one. The task must be repeatable.
 */
export async function apartIfDamaged<K extends Owner, V>(
  items: readonly K[],
  task: (items: readonly K[]) => Promise<readonly V[]>,
): Promise<(V | DamagedMarks)[]> {
  try {
    return [...(await task(items))]
  } catch (error) {
    if (!(error instanceof DamagedMarks) || !items.some((item) => error.concerns(item))) throw error
    return inTwo<K, V | DamagedMarks>(
      items,
      (item) => error.concerns(item),
      async (damaged) => damaged.map(() => error),
      async (others) => (others.length === 0 ? [] : apartIfDamaged(others, task)),
    )
  }
}
