/** The steps by which keys of the log are persisted: one for posts and filter words, one for counters. */
import type { FlushedKey, Subject } from '../../../core/domain.ts'
import { countedSubjectOf } from '../model/counts.ts'
import type { FeedPersistReport } from './persist.ts'

/** They reject with the code of the store that failed. */
export type FeedPersistSteps = {
  persist(keys: readonly FlushedKey[]): Promise<FeedPersistReport>
  counters: CounterSteps
}

export type CounterSteps = {
  /** `rows`: the subjects that it wrote. */
  persist(subjects: readonly Subject[]): Promise<{ rows: number }>
  /** As `CounterStore.listDirty`. */
  listDirty(regions: readonly number[], dirtyBefore: number, limit: number): Promise<Subject[]>
}

/** A failure of one step does not keep the other back. Resolves and rejects when both have ended. */
export async function persistByKind(
  keys: readonly FlushedKey[],
  persistPosts: (keys: readonly FlushedKey[]) => Promise<unknown>,
  persistCounts: (keys: readonly FlushedKey[]) => Promise<unknown>,
): Promise<void> {
  const { posts = [], counts = [] } = Object.groupBy(keys, (key) => (countedSubjectOf(key) === undefined ? 'posts' : 'counts'))
  const steps: Promise<unknown>[] = []
  if (posts.length > 0) steps.push(persistPosts(posts))
  if (counts.length > 0) steps.push(persistCounts(counts))
  for (const step of await Promise.allSettled(steps)) if (step.status === 'rejected') throw step.reason
}

export function subjectsOf(keys: readonly FlushedKey[]): Subject[] {
  return keys.flatMap((key) => countedSubjectOf(key) ?? [])
}
