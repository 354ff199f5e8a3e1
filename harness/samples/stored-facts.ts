/**
 * Facts long after their write: in the record store, and trimmed from the hot tier. They are written directly into the stores, without the
 * service.
 */
import type { BusinessNumber, ViewerId } from '../../core/domain.ts'
import { persistKeys } from '../../subgraphs/history/persist/persist.ts'
import { addToFilter } from '../../subgraphs/feed-existence/filter/filter.ts'
import { hashSeen } from '../../subgraphs/feed-existence/filter/hash.ts'
import { monthOf } from '../../subgraphs/feed-existence/model/time-ring.ts'
import type { HotStore } from '../../subgraphs/history/stores/hot-store.ts'
import type { MarkRecords } from '../../subgraphs/thumbup/stores/record-store.ts'
import type { RecordStore } from '../../subgraphs/history/stores/record-store.ts'
import type { SeenRecords } from '../../subgraphs/feed-existence/stores/record-store.ts'
import { chunked } from '../../stores/chunks.ts'

/** Subjects that a viewer watched or liked, oldest first. */
export type Facts = { viewer: ViewerId; oids: readonly string[] }

const AT_ONCE = 500
const HOUR_MS = 3_600_000
const EXPIRES_MS = 1e10

/** Likes of viewers unknown to the hot store. */
export async function storeLikes(records: MarkRecords, business: BusinessNumber, facts: readonly Facts[], since: number): Promise<void> {
  const rows = facts.flatMap(({ viewer, oids }) =>
    oids.map((oid, at) => ({
      key: { viewer, business, oid },
      record: { mark: 'LIKE' as const, markedAt: since + at, version: (since + at) * 1_024 },
    })),
  )
  for (const some of chunked(rows, AT_ONCE)) await storeMarks(records, some)
}

/** Without events of these marks, as if they had been sent long ago. */
export async function storeMarks(records: MarkRecords, rows: Parameters<MarkRecords['applyMarks']>[0]): Promise<void> {
  const { changes } = await records.applyMarks(rows, [])
  if (changes !== undefined) await records.dropOutbox([changes.number])
}

/** History of which the hot timelines hold the newest `timelineCap` entries per viewer. */
export async function storeHistory(
  hot: HotStore,
  records: RecordStore,
  business: BusinessNumber,
  facts: readonly Facts[],
  timelineCap: number,
): Promise<void> {
  const now = Date.now()
  const writes = facts.flatMap(({ viewer, oids }) =>
    oids.map((oid, at) => {
      const viewedAt = now - HOUR_MS - (oids.length - at) * 1_000
      const record = {
        viewedAt,
        since: 0,
        rank: viewedAt,
        version: 0,
        position: 60_000,
        duration: 0,
        device: '',
        finished: false,
        deleted: false,
      }
      return { viewer, business, oid, record, decisive: true }
    }),
  )
  for (const some of chunked(writes, AT_ONCE)) {
    await hot.putProgress(some, { timelineCap, now })
    await persistKeys({ hot, records }, some, { timelineCap, purgeRowsMax: 1_000 })
  }
}

/** Filters of this month. */
export async function storeFilters(records: SeenRecords, business: BusinessNumber, facts: readonly Facts[]): Promise<void> {
  const now = Date.now()
  const writes = facts.map(({ viewer, oids }) => ({
    ...{ viewer, month: monthOf(now), filter: addToFilter(undefined, hashSeen(business, oids), { rate: 0.0025 }) },
    ...{ expected: 0, expiresAt: now + EXPIRES_MS },
  }))
  for (const some of chunked(writes, AT_ONCE)) await records.putFilters(some)
}
