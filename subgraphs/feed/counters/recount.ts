/**
 * Recounts the counters that posts cause, from all posts of the record store. It reads the posts first and then the totals, page by page.
 *
 * It may run beside a service that writes. A post and its counts are persisted in different steps, so a difference counts only if the total
 * of the subject has not changed since the start, and does not change during `settle`.
 */
import type { BusinessNumber, Subject } from '../../../core/domain.ts'
import { VERSIONS_PER_MS } from '../../../core/version.ts'
import { chunked } from '../../../stores/chunks.ts'
import { USERS } from '../model/post-events.ts'
import type { CounterRecords } from '../stores/counter-records.ts'
import type { FeedRecords } from '../stores/record-store.ts'
import { makePostTally } from './post-tally.ts'

/** `counted`: as in the total, whose version this is (0: there is none). `stored`: posts, or reposts of the post. */
export type PostDrift = { subject: Subject; counter: 'post' | 'repost'; counted: number; stored: number; version: number }

export type PostRecount = {
  /** Users and posts that have a total, or should have one. */
  subjects: number
  drift: PostDrift[]
}

export type RecountedStores = { posts: Pick<FeedRecords, 'listPosts'>; counters: Pick<CounterRecords, 'listTotals' | 'getTotalsMany'> }

const PAGE = 1_000
/** Clocks of processes do not differ by more. */
export const CLOCK_DIFFERENCE_MS = 60_000

/** `business`: of the posts. `settle` resolves when counts of posts that are persisted now are persisted too. Rejects as the stores. */
export async function recountPosts(
  { posts, counters }: RecountedStores,
  business: BusinessNumber,
  startedAt: number,
  settle: () => Promise<void>,
): Promise<PostRecount> {
  const tally = makePostTally(business)
  for (let page = await posts.listPosts(undefined, PAGE); page.length > 0; page = await posts.listPosts(page.at(-1)?.id, PAGE))
    page.forEach(tally.add)

  const versionBelow = (startedAt - CLOCK_DIFFERENCE_MS) * VERSIONS_PER_MS
  const drift: PostDrift[] = []
  let subjects = 0
  for (const number of [USERS, business]) {
    const counter = tally.counterOf(number)
    for (let after: string | undefined; ;) {
      const page = await counters.listTotals(number, after, PAGE)
      if (page.length === 0) break
      after = page.at(-1)?.subject.oid
      subjects += page.length
      for (const { subject, counts, version } of page) {
        const [counted, stored] = [counts[counter] ?? 0, tally.take(subject)]
        if (counted !== stored && version < versionBelow) drift.push({ subject, counter, counted, stored, version })
      }
    }
  }
  for (const { subject, count } of tally.rest()) {
    subjects++
    drift.push({ subject, counter: tally.counterOf(subject.business), counted: 0, stored: count, version: 0 })
  }
  return { subjects, drift: drift.length === 0 ? drift : await unchanged(counters, drift, settle) }
}

async function unchanged(counters: RecountedStores['counters'], drift: readonly PostDrift[], settle: () => Promise<void>) {
  await settle()
  const left: PostDrift[] = []
  for (const some of chunked(drift, PAGE)) {
    const totals = await counters.getTotalsMany(some.map(({ subject }) => subject))
    left.push(...some.filter(({ version }, at) => (totals[at]?.version ?? 0) === version))
  }
  return left
}
