/** Callers of rate limits, and a clock that a test sets forward. */
import type { Caller } from '../../../gateway/request/caller.ts'

export const NOBODY: Caller = { viewer: undefined, client: undefined, address: undefined }
export const silent = { warn() {} }

export function viewer(id: string, scopes: readonly string[] = [], actor?: string): Caller {
  return { ...NOBODY, viewer: { id, scopes, ...(actor === undefined ? {} : { actor }) } }
}

export function atAddress(address: string): Caller {
  return { ...NOBODY, address }
}

export function stepped() {
  let now = 1_800_000_000_000
  return { now: () => now, after: () => ({ cancel() {} }), pass: (ms: number) => void (now += ms) }
}
