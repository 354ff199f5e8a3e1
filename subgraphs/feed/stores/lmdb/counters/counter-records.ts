/**
 * The record store of counters on LMDB:
 *
 *     feed-count-records  u16 business · packed oid  →  f64 version · counts as JSON
 */
import type { BusinessNumber, Subject } from '../../../../../core/domain.ts'
import { PACKED_ID_BYTES_MAX, packId, unpackId } from '../../../../../core/keys.ts'
import type { Environment } from '../../../../../stores/lmdb/environment.ts'
import { failingAs } from '../../../../../stores/lmdb/failures.ts'
import { countEntries } from '../../../../../stores/lmdb/scan.ts'
import type { CountRow, VersionedCounts } from '../../../model/counts.ts'
import type { CounterRecords } from '../../counter-records.ts'
import { decodeCounts, encodeCounts } from '../../counts-codec.ts'

const VERSION_BYTES = 8

/** The environment stays open when the store is closed, since others may use it. */
export function openLmdbCounterRecords(environment: Environment): CounterRecords {
  const table = environment.table('feed-count-records')
  const calling = <T>(task: () => T | Promise<T>): Promise<T> => failingAs('RECORD_STORE_UNAVAILABLE', environment.folder, task)

  function read(subject: Subject): VersionedCounts | undefined {
    const value = table.getBinary(subjectKey(subject))
    return value && totalsOf(value)
  }

  return {
    async putTotals(rows) {
      await calling(() =>
        environment.write(() => {
          for (const { subject, version, counts } of rows) {
            if ((read(subject)?.version ?? -1) >= version) continue
            const head = Buffer.allocUnsafe(VERSION_BYTES)
            head.writeDoubleBE(version)
            void table.put(subjectKey(subject), Buffer.concat([head, encodeCounts(counts)]))
          }
        }),
      )
    },
    getTotalsMany: (subjects) => calling(() => environment.read(() => subjects.map(read))),
    listTotals: (business, after, limit) =>
      calling(() =>
        environment.read(() => {
          const start = after === undefined ? businessKey(business) : subjectKey({ business, oid: after })
          const range = table.getRange({ start, end: businessKey(business, 0xff), exclusiveStart: true, limit })
          return Array.from(range, ({ key, value }): CountRow => ({ subject: { business, oid: unpackId(key, 2) }, ...totalsOf(value) }))
        }),
      ),
    countSubjects: () => calling(() => environment.read(() => countEntries(table))),
    check: () => calling(() => environment.read(() => undefined)),
    close: () => Promise.resolve(),
  }
}

export function subjectKey({ business, oid }: Subject): Buffer {
  const key = Buffer.allocUnsafe(2 + PACKED_ID_BYTES_MAX)
  return key.subarray(0, packId(oid, key, key.writeUInt16BE(business, 0)))
}

/** Before all subjects of the business, or behind them: no packed id begins with 0xff. */
export function businessKey(business: BusinessNumber, ...rest: number[]): Buffer {
  return Buffer.from([business >> 8, business & 0xff, ...rest])
}

function totalsOf(value: Buffer): VersionedCounts {
  return { version: value.readDoubleBE(0), counts: decodeCounts(value.subarray(VERSION_BYTES)) }
}
