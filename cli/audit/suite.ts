/** The whole suite, in the order it is told. A test runs every check against a deployment that breaks its promise. */
import { badInput } from './bad-input.ts'
import type { Check } from './check.ts'
import { deleting } from './deleting.ts'
import { durability } from './durability.ts'
import { existence, existenceStays } from './existence.ts'
import { existenceBadInput } from './existence-bad-input.ts'
import { health } from './health.ts'
import { markBadInput } from './mark-bad-input.ts'
import { markLists, markListsStay } from './mark-lists.ts'
import { markSums } from './mark-sums.ts'
import { markWrites } from './mark-writes.ts'
import { order } from './order.ts'
import { pages } from './pages.ts'
import { subscriptions } from './subscriptions.ts'
import { whoAsks } from './who-asks.ts'
import { writes } from './writes.ts'

/** These do not wait for the write-back. */
export const PROMPT_CHECKS: readonly Check[] = [
  ...writes,
  ...order,
  ...pages,
  ...deleting,
  ...badInput,
  ...whoAsks,
  ...subscriptions,
  ...existence,
  ...existenceBadInput,
  ...markWrites,
  ...markLists,
  ...markBadInput,
  ...health,
]

/** These do: they run side by side, after the others. */
export const PATIENT_CHECKS: readonly Check[] = [...durability, ...existenceStays, ...markListsStay, ...markSums]
