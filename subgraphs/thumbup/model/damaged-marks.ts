/**
 * Marks that cannot be read because a block of the archive is damaged. A block belongs to one viewer, and the error names the viewer. All
 * other viewers of the same call are still persisted and answered.
 */
import type { BusinessNumber, ViewerId } from '../../../core/domain.ts'
import { DamagedData, makeDamageGatherer } from '../../../core/outage/damaged-data.ts'

type Owner = { viewer: ViewerId; business: BusinessNumber }

export class DamagedMarks extends DamagedData<Owner> {
  readonly owners: readonly Owner[]
  /** `owners`: at least one. `cause`: the damage of a block of the first owner. */
  constructor(owners: readonly Owner[], cause: unknown) {
    const [{ viewer, business } = { viewer: '', business: 0 }, ...others] = owners
    const marks = `marks of viewer "${viewer}" in business ${business}${others.length === 0 ? '' : ` (and of ${others.length} more)`}`
    super(`${marks} cannot be read: ${cause instanceof Error ? cause.message : String(cause)}`, cause)
    this.owners = owners
  }

  concerns({ viewer, business }: Owner): boolean {
    return this.owners.some((owner) => owner.viewer === viewer && owner.business === business)
  }
}

export const gatherDamage = () => makeDamageGatherer<Owner>((owners, cause) => new DamagedMarks(owners, cause))
