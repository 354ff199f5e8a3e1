/**
 * The engine writes three kinds of small functions at compile time: representations of entities, the merge of fetched
 * entities, and the final projection. Written out with literal keys they let V8 build objects of one hidden class; the
 * same as loops over key arrays takes ten to thirty times as long. Keys come from validated GraphQL names, and are
 * quoted here all the same.
 */

/** Makes a function of the source of its body; `bindings` are what the body may name besides its parameters. */
export function makeFunction<Result>(parameters: readonly string[], body: string, bindings: Readonly<Record<string, unknown>>): Result {
  const source = `"use strict"; return function (${parameters.join(', ')}) { ${body} }`
  // oxlint-disable-next-line typescript/no-implied-eval -- the point of this file, see above
  const factory = new Function(...Object.keys(bindings), source) as (...values: unknown[]) => Result
  return factory(...Object.values(bindings))
}

/** `object.key`, safe for names that every object inherits ("constructor", "toString"). */
export function read(object: string, key: string): string {
  const access = `${object}[${JSON.stringify(key)}]`
  return key in Object.prototype ? `(Object.hasOwn(${object}, ${JSON.stringify(key)}) ? ${access} : undefined)` : access
}

/** `key: value` of an object literal; `__proto__` must be computed, or it sets the prototype. */
export function entry(key: string, value: string): string {
  return `${key === '__proto__' ? '["__proto__"]' : JSON.stringify(key)}: ${value}`
}
