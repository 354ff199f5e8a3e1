/** The exit status of `tidemark reconcile`. It has its own file: a wrong option ends the command before the command's code is loaded. */

/** The result of a recount. */
export type Reconciled = {
  /** Subjects and owners whose counts differ. */
  drifting: number
  /** Businesses whose record store does not answer. */
  unchecked: number
  /** Subjects and owners, or whole businesses, that are damaged or cannot be counted for another reason. */
  unreadable: number
}

/** Exit status if the recount failed, for all businesses or for some, and for a wrong argument or option. */
export const FAILED = 3

/** An outage is not a difference, and damaged data needs another action than an outage, so each has its own status. */
export function exitStatus({ drifting, unchecked, unreadable }: Reconciled): 0 | 1 | 2 | typeof FAILED {
  if (drifting > 0) return 1
  if (unreadable > 0) return FAILED
  return unchecked > 0 ? 2 : 0
}
