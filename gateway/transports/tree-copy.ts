/** A copy of a tree that came out of JSON.parse. `structuredClone` does the same at ten times the price. */
export function copyOf<Value>(value: Value): Value {
  return copyValue(value) as Value
}

function copyValue(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) {
    const items: unknown[] = []
    for (let index = 0; index < value.length; index += 1) items.push(copyValue(value[index]))
    return items
  }
  // Spread makes an object of the same hidden class at once; only what holds more objects is then replaced.
  const copy: Record<string, unknown> = { ...(value as Record<string, unknown>) }
  for (const key in copy) {
    const inner = copy[key]
    if (typeof inner === 'object' && inner !== null) copy[key] = copyValue(inner)
  }
  return copy
}
