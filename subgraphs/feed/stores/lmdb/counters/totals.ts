/**
 * The tables of the hot store of counters on LMDB, and the totals in them.
 *
 *     feed-counts           u16 business · packed oid        →  u48 dirtySince (0: clean) · f64 version · counters · overflow entry or nothing
 *     feed-counts-dirty     dirty-marks.ts                   →  (nothing)
 *     feed-counts-events    u48 period · 8 bytes of a hash   →  (nothing)
 *     feed-counts-counters  "version"                        →  the last version
 *                           "schema:" business               →  the schema of its counters, as text
 *
 * If the configured schema of a business is another than the stored one, `repack` rewrites its totals in one transaction.
 */
import type { BusinessNumber, Subject } from '../../../../../core/domain.ts'
import type { Environment } from '../../../../../stores/lmdb/environment.ts'
import { zeroCounts, type CounterSchemas } from '../../../model/counts.ts'
import { schemaOfText, schemaText, type CounterSchema, type PackedCounts } from '../../../packed/counter-schema.ts'
import { EVENT_HASH_BYTES } from '../../event-hash.ts'
import { businessKey, subjectKey } from './counter-records.ts'

const SINCE_BYTES = 6
const HEAD_BYTES = SINCE_BYTES + 8
const PERIOD_BYTES = 6
export const NOTHING = Buffer.allocUnsafeSlow(0)

export type Held = { since: number; version: number; packed: PackedCounts }
export type Totals = ReturnType<typeof openTotals>

/** Totals that are read at a time. */
const REPACKED_AT_ONCE = 10_000

export function openTotals(environment: Environment, schemas: CounterSchemas) {
  const counts = environment.table('feed-counts')
  const counters = environment.table('feed-counts-counters')

  function schemaOf({ business }: Pick<Subject, 'business'>): CounterSchema<string> {
    const schema = schemas.get(business)
    if (schema === undefined) throw new Error(`business ${business} has no counters`)
    return schema
  }

  /** The totals of the business, if it has any, have the configured schema. */
  function isPacked(business: BusinessNumber): boolean {
    const stored = counters.getBinary(schemaKey(business))
    return stored === undefined || stored.toString() === schemaText(schemaOf({ business }))
  }

  /** Totals of new counters are 0. */
  function repackBusiness(business: BusinessNumber, schema: CounterSchema<string>): void {
    const old = schemaOfText(String(counters.getBinary(schemaKey(business))))
    const zeros = zeroCounts(schema)
    const end = businessKey(business, 0xff)
    for (let start: Buffer | undefined = businessKey(business); start !== undefined;) {
      const range = counts.getRange({ start, end, exclusiveStart: true, limit: REPACKED_AT_ONCE })
      const some = Array.from(range, ({ key, value }) => {
        const held = heldIn(value, old)
        return { key, value: valueOf({ ...held, packed: schema.pack({ ...zeros, ...old.unpack(held.packed) }) }) }
      })
      for (const { key, value } of some) void counts.put(key, value)
      start = some.at(-1)?.key
    }
    void counters.put(schemaKey(business), Buffer.from(schemaText(schema)))
  }

  return {
    dirty: environment.table('feed-counts-dirty'),
    events: environment.table('feed-counts-events'),
    counters,
    schemaOf,
    isPacked,

    repack(): void {
      for (const [business, schema] of schemas) if (!isPacked(business)) repackBusiness(business, schema)
    },

    read(subject: Subject): Held | undefined {
      const value = counts.getBinary(subjectKey(subject))
      return value && heldIn(value, schemaOf(subject))
    },

    write(subject: Subject, held: Held): void {
      const name = schemaKey(subject.business)
      if (counters.getBinary(name) === undefined) void counters.put(name, Buffer.from(schemaText(schemaOf(subject))))
      void counts.put(subjectKey(subject), valueOf(held))
    },
  }
}

function heldIn(value: Buffer, { entryBytes }: CounterSchema<string>): Held {
  const end = HEAD_BYTES + entryBytes
  const packed = { entry: value.subarray(HEAD_BYTES, end), overflow: value.length === end ? undefined : value.subarray(end) }
  return { since: value.readUIntBE(0, SINCE_BYTES), version: value.readDoubleBE(SINCE_BYTES), packed }
}

function valueOf({ since, version, packed }: Held): Buffer {
  const head = Buffer.allocUnsafe(HEAD_BYTES)
  head.writeDoubleBE(version, head.writeUIntBE(since, 0, SINCE_BYTES))
  return Buffer.concat([head, packed.entry, packed.overflow ?? NOTHING])
}

function schemaKey(business: BusinessNumber): Buffer {
  return Buffer.from(`schema:${business}`)
}

/** The keys of a period are side by side. */
export function eventKey(period: number, hash: Buffer): Buffer {
  const key = Buffer.allocUnsafe(PERIOD_BYTES + EVENT_HASH_BYTES)
  hash.copy(key, key.writeUIntBE(Math.max(0, period), 0, PERIOD_BYTES))
  return key
}
