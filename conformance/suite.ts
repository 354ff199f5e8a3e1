/** The whole suite, in the order of the printed findings. A test runs every check against a deployment that breaks its guarantee. */
import { badInput } from './checks/bad-input.ts'
import type { Check } from './check.ts'
import { deleting } from './checks/deleting.ts'
import { durability } from './checks/durability.ts'
import { existence, existenceStays } from './checks/existence.ts'
import { existenceBadInput } from './checks/existence-bad-input.ts'
import { feedBadInput } from './checks/feed-bad-input.ts'
import { feedCounts, feedStays } from './checks/feed-counts.ts'
import { feedFollows, followsStay } from './checks/feed-follows.ts'
import { feedPosts } from './checks/feed-posts.ts'
import { feedRestricted, restrictedStay } from './checks/feed-restricted.ts'
import { feedSubscriptions } from './checks/feed-subscriptions.ts'
import { health } from './checks/health.ts'
import { markBadInput } from './checks/mark-bad-input.ts'
import { markLists, markListsStay } from './checks/mark-lists.ts'
import { markSums } from './checks/mark-sums.ts'
import { markWrites } from './checks/mark-writes.ts'
import { order } from './checks/order.ts'
import { pages } from './checks/pages.ts'
import { subscriptions } from './checks/subscriptions.ts'
import { whoAsks } from './checks/who-asks.ts'
import { writes } from './checks/writes.ts'

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
  ...feedFollows,
  ...feedPosts,
  ...feedRestricted,
  ...feedCounts,
  ...feedSubscriptions,
  ...feedBadInput,
  ...health,
]

/** These wait for the write-back. They run concurrently, after the others. */
export const PATIENT_CHECKS: readonly Check[] = [
  ...durability,
  ...existenceStays,
  ...markListsStay,
  ...markSums,
  ...followsStay,
  ...restrictedStay,
  ...feedStays,
]
