/**
 * The tables of the hot store of counters on LMDB, and the totals in them.
 *
 *     feed-counts           u16 business · packed oid        →  u48 dirtySince (0: clean) · f64 version · counters · overflow entry or nothing
 *     feed-counts-dirty     dirty-marks.ts                   →  (nothing)
 *     feed-counts-events    u48 period · 8 bytes of a hash   →  (nothing)
 *     feed-counts-counters  "version"                        →  the last version
 */
import type { Subject } from '../../../../../core/domain.ts'
import type { Environment } from '../../../../../stores/lmdb/environment.ts'
import type { CounterSchemas } from '../../../model/counts.ts'
import type { CounterSchema, PackedCounts } from '../../../packed/counter-schema.ts'
import { EVENT_HASH_BYTES } from '../../event-hash.ts'
import { subjectKey } from './counter-records.ts'

const SINCE_BYTES = 6
const HEAD_BYTES = SINCE_BYTES + 8
const PERIOD_BYTES = 6
export const NOTHING = Buffer.allocUnsafeSlow(0)

export type Held = { since: number; version: number; packed: PackedCounts }
export type Totals = ReturnType<typeof openTotals>

export function openTotals(environment: Environment, schemas: CounterSchemas) {
  const counts = environment.table('feed-counts')

  function schemaOf({ business }: Subject): CounterSchema<string> {
    const schema = schemas.get(business)
    if (schema === undefined) throw new Error(`business ${business} has no counters`)
    return schema
  }

  return {
    dirty: environment.table('feed-counts-dirty'),
    events: environment.table('feed-counts-events'),
    counters: environment.table('feed-counts-counters'),
    schemaOf,

    read(subject: Subject): Held | undefined {
      const value = counts.getBinary(subjectKey(subject))
      if (value === undefined) return undefined
      const end = HEAD_BYTES + schemaOf(subject).entryBytes
      const packed = { entry: value.subarray(HEAD_BYTES, end), overflow: value.length === end ? undefined : value.subarray(end) }
      return { since: value.readUIntBE(0, SINCE_BYTES), version: value.readDoubleBE(SINCE_BYTES), packed }
    },

    write(subject: Subject, { since, version, packed }: Held): void {
      const head = Buffer.allocUnsafe(HEAD_BYTES)
      head.writeDoubleBE(version, head.writeUIntBE(since, 0, SINCE_BYTES))
      void counts.put(subjectKey(subject), Buffer.concat([head, packed.entry, packed.overflow ?? NOTHING]))
    },
  }
}

/** The keys of a period are side by side. */
export function eventKey(period: number, hash: Buffer): Buffer {
  const key = Buffer.allocUnsafe(PERIOD_BYTES + EVENT_HASH_BYTES)
  hash.copy(key, key.writeUIntBE(Math.max(0, period), 0, PERIOD_BYTES))
  return key
}
