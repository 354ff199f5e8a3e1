/** Merges the values of several sources: a later source wins, setting by setting. */

export function mergeValues(below: unknown, above: unknown): unknown {
  if (above === undefined || above === null) return below
  // A section may come from several sources. If a lower source set a value that is not an object, keep it, so that
  // validation reports it.
  if (isPlainObject(above) && below !== undefined && below !== null && !isPlainObject(below)) return below
  if (!isPlainObject(below) || !isPlainObject(above)) return above
  const merged: Record<string, unknown> = { ...below }
  for (const [key, value] of Object.entries(above)) merged[key] = mergeValues(below[key], value)
  return merged
}

export function isPlainObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null) {
    for (const child of Object.values(value)) deepFreeze(child)
    Object.freeze(value)
  }
  return value
}
