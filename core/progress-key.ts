/** Progress keys as text, for sets and maps of a process. Stores use the bytes of `keys.ts`. */
import { SETTINGS_BUSINESS, SETTINGS_OID, type FlushedKey, type ProgressKey, type ViewerId } from './domain.ts'

/** One text per key and one key per text: the viewer's length makes it unambiguous. */
export function keyText(key: ProgressKey): string {
  return `${key.viewer.length}:${key.viewer}${key.business}:${key.oid}`
}

/** The keys without repetitions, in order of first appearance, with the last day on which a play was staged. */
export function distinctKeys(keys: Iterable<FlushedKey>): FlushedKey[] {
  const byText = new Map<string, FlushedKey>()
  for (const key of keys) {
    const text = keyText(key)
    if (key.stagedOn !== undefined || !byText.has(text)) byText.set(text, key)
  }
  return [...byText.values()]
}

/** The address under which a viewer's settings travel to the record store. */
export function settingsKey(viewer: ViewerId): ProgressKey {
  return { viewer, business: SETTINGS_BUSINESS, oid: SETTINGS_OID }
}

export function isSettingsKey(key: ProgressKey): boolean {
  return key.business === SETTINGS_BUSINESS
}
