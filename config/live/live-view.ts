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

/** The properties of both. They stay live; a spread would read them once. */
export function withLive<T extends object, More extends object>(view: T, more: More): T & More {
  const descriptors = { ...Object.getOwnPropertyDescriptors(view), ...Object.getOwnPropertyDescriptors(more) }
  return Object.defineProperties({}, descriptors) as T & More
}

/** As `liveView`, with other names: `{ keysMax: 'flushKeysMax' }` has the setting `flushKeysMax` of the moment as `keysMax`. */
export function liveSettings<T extends object, Names extends Readonly<Record<string, keyof T>>>(
  read: () => T,
  names: Names,
): { readonly [Name in keyof Names]: T[Names[Name]] } {
  const view = {}
  for (const [name, key] of Object.entries(names)) Object.defineProperty(view, name, { enumerable: true, get: () => read()[key] })
  return view as { readonly [Name in keyof Names]: T[Names[Name]] }
}
