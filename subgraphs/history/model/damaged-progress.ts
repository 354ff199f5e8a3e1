/**
 * Values of history in the hot store that cannot be decoded. The error names their keys. The persist step leaves these dirty and persists
 * all others. One damaged record therefore does not delay its region. Lookups of other keys are answered.
 */
import type { ProgressKey } from '../../../core/domain.ts'
import { DamagedData, makeDamageGatherer } from '../../../core/outage/damaged-data.ts'
import { isSettingsKey, keyText } from '../../../core/progress-key.ts'

export class DamagedProgress extends DamagedData<ProgressKey> {
  readonly #keys: ReadonlySet<string>
  /** `keys`: at least one, also of settings. `cause`: the reason for the first of them. */
  constructor(keys: readonly ProgressKey[], cause: unknown) {
    const [first = { viewer: '', business: 0, oid: '' }, ...others] = keys
    const { viewer, business, oid } = first
    const what = isSettingsKey(first)
      ? `settings of viewer "${viewer}"`
      : `progress in "${oid}" of viewer "${viewer}" in business ${business}`
    const which = `${what}${others.length === 0 ? '' : ` (and ${others.length} more records)`}`
    const reason = cause instanceof Error ? cause.message : String(cause)
    super(`the hot store's ${which} cannot be decoded (${reason}): remove it, or it stays unpersisted`, cause)
    this.#keys = new Set(keys.map(keyText))
  }

  concerns(key: ProgressKey): boolean {
    return this.#keys.has(keyText(key))
  }
}

export const gatherDamage = () => makeDamageGatherer<ProgressKey>((keys, cause) => new DamagedProgress(keys, cause))
