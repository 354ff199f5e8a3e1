/**
 * The engine generates small functions: the reading of answers, representations of entities, the merge of fetched entities, and the final
 * projection. With literal keys V8 builds objects of one hidden class. Loops over arrays of keys take ten to thirty times as
 * long. Keys come from validated GraphQL names, and are quoted all the same.
 */

/** Makes a function from the source of its body. `bindings` are the values that the body may name besides its parameters. */
export function makeFunction<Result>(parameters: readonly string[], body: string, bindings: Readonly<Record<string, unknown>>): Result {
  const source = `"use strict"; return function (${parameters.join(', ')}) { ${body} }`
  // oxlint-disable-next-line typescript/no-implied-eval -- the point of this file, see above
  const factory = new Function(...Object.keys(bindings), source) as (...values: unknown[]) => Result
  return factory(...Object.values(bindings))
}

/** Adds values to `bindings`, and returns their names. */
export function makeBind(bindings: Record<string, unknown>): (value: unknown) => string {
  return (value) => {
    const name = `b${Object.keys(bindings).length}`
    bindings[name] = value
    return name
  }
}

/** `object.key`, safe for names that every object inherits ("constructor", "toString"). */
export function read(object: string, key: string): string {
  const access = `${object}[${JSON.stringify(key)}]`
  return key in Object.prototype ? `(Object.hasOwn(${object}, ${JSON.stringify(key)}) ? ${access} : undefined)` : access
}

/** `key: value` of an object literal. `__proto__` is computed, because a plain `__proto__` sets the prototype. */
export function entry(key: string, value: string): string {
  return `${key === '__proto__' ? '["__proto__"]' : JSON.stringify(key)}: ${value}`
}

/**
 * The source of an expression that is true if the value `name` is a promise, as `isPromise` tests it. V8 caches object shapes per place in the
 * code. The test in a generated function sees few shapes, and the shared `isPromise` sees all of them.
 */
export function promiseTest(name: string): string {
  return `((typeof ${name} === 'object' || typeof ${name} === 'function') && ${name} !== null && typeof ${name}.then === 'function')`
}
