/** The shared parts of tests of change feeds: a record of a feed's changes, and counts of database rows. */
import type { OwnerSum } from '../../core/domain.ts'
import type { CountedSubject } from '../../core/domain.ts'
import type { CountChanges, CountFeed, RunningFeed } from '../../subgraphs/thumbup/change-feed/count-feed.ts'
import type { MarkRecords, MarkRow } from '../../subgraphs/thumbup/stores/record-store.ts'

export const quietLogger = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined }

export type Followed = { running: RunningFeed; counts: CountedSubject[]; owners: OwnerSum[]; gaps: string[]; calls: () => number }

/** Starts a feed and records its changes. The first `failures` calls are rejected. */
export async function follow(feed: CountFeed, failures = 0): Promise<Followed> {
  const [counts, owners, gaps]: [CountedSubject[], OwnerSum[], string[]] = [[], [], []]
  let calls = 0
  const take = async (changes: CountChanges) => {
    if (calls++ < failures) throw new Error('not now')
    counts.push(...changes.counts)
    owners.push(...changes.owners)
  }
  const running = await feed.start(take, (sentence) => gaps.push(sentence))
  return { running, counts, owners, gaps, calls: () => calls }
}

let clock = 1_700_000_000_000

/** One like per viewer, all in one transaction: one change of the subject's counts. */
export async function like(records: MarkRecords, business: number, oid: string, viewers: readonly string[]): Promise<void> {
  clock += 1
  const rows: MarkRow[] = viewers.map((viewer) => ({
    key: { viewer, business, oid },
    record: { mark: 'LIKE', markedAt: clock, version: clock },
  }))
  await records.applyMarks(rows, [])
}

/** The url with the port of a proxy. */
export function throughPort(url: string, port: number): string {
  const changed = new URL(url)
  changed.port = String(port)
  return changed.href
}

export function portOf(url: string): number {
  return Number(new URL(url).port)
}
