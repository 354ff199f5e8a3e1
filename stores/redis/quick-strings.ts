/**
 * Undoes a side effect of importing ioredis 6 on the whole process. ioredis declares a class that extends String; V8 then keeps
 * `String.prototype` as a dictionary, and no longer compiles string methods into their callers. Hashing an id takes five times as long, and
 * so does other code that iterates over strings. V8 makes a prototype fast again when an inline cache looks something up through it. It
 * keeps such caches after a function's first few calls, so a function is called more often than that here.
 *
 * Only speed depends on it. `test/stores/redis/quick-strings.test.ts` asks V8 whether it still works.
 */
const CALLS = 1_000

/** To be called after ioredis has been imported. */
export function quickenStrings(): void {
  const heir = Object.create(String.prototype) as { charCodeAt: unknown }
  for (let call = 0; call < CALLS; call++) lookUp(heir)
}

function lookUp(heir: { charCodeAt: unknown }): boolean {
  return typeof heir.charCodeAt === 'function'
}
