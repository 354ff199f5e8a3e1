/**
 * Records of progress that cannot be decoded. The error names their keys. The persist step leaves these dirty and persists all others, so
 * that one damaged record does not hold up its region.
 */
import type { ProgressKey } from '../../../core/domain.ts'
import { TidemarkError } from '../../../core/errors.ts'
import { keyText } from '../../../core/progress-key.ts'

/** The error says nothing about other keys of the call. */
export class DamagedProgress extends TidemarkError {
  readonly #keys: ReadonlySet<string>
  /** `keys`: at least one. `cause`: the reason for the first of them. */
  constructor(keys: readonly ProgressKey[], cause: unknown) {
    const [{ viewer, business, oid } = { viewer: '', business: 0, oid: '' }, ...others] = keys
    const which = `"${oid}" of viewer "${viewer}" in business ${business}${others.length === 0 ? '' : ` (and ${others.length} more records)`}`
    const reason = cause instanceof Error ? cause.message : String(cause)
    super('DATA_DAMAGED', `the hot store's progress in ${which} cannot be decoded (${reason}): remove it, or it stays unpersisted`, {
      cause,
    })
    this.#keys = new Set(keys.map(keyText))
  }

  concerns(key: ProgressKey): boolean {
    return this.#keys.has(keyText(key))
  }
}

/** For readers of many records: they note each damaged one, go on, and throw at the end. */
export function gatherDamage() {
  const keys: ProgressKey[] = []
  let first: unknown
  return {
    note(key: ProgressKey, error: unknown): void {
      first ??= error
      keys.push(key)
    },
    throwIfAny(): void {
      if (keys.length > 0) throw new DamagedProgress(keys, first)
    },
  }
}
