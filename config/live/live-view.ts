/**
 * An object whose properties are those of the value of the moment. The keys are those of the first value. Code that reads a property when it
 * uses it follows changes; a property that was read at the start stays as it was.
 */
export function liveView<T extends object>(read: () => T): T {
  const view = {}
  for (const key of Object.keys(read())) {
    Object.defineProperty(view, key, { enumerable: true, get: () => read()[key as keyof T] })
  }
  return view as T
}
