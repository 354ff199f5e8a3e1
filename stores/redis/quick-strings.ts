/**
 * Undoes what importing ioredis 6 does to the whole process. It declares a class that extends String; that makes V8 keep
 * `String.prototype` as a dictionary, and then no string method is compiled into its caller any more: hashing an id takes five
 * times as long, and so does whatever else walks over strings. V8 takes a prototype for quick again when an inline cache looks something up
 * through it. It begins to keep such caches after a function's first few calls, so one is called some more times than that.
 *
 * Nothing depends on it but speed. `test/stores/redis/quick-strings.test.ts` asks V8 whether it still works.
 */
const CALLS = 1_000

/** Call it when ioredis has been imported. */
export function quickenStrings(): void {
  const heir = Object.create(String.prototype) as { charCodeAt: unknown }
  for (let call = 0; call < CALLS; call++) lookUp(heir)
}

function lookUp(heir: { charCodeAt: unknown }): boolean {
  return typeof heir.charCodeAt === 'function'
}
