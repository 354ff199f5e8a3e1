/**
 * How many bytes does a viewer take? The benchmark compares:
 *
 * - our filters;
 * - the sorted set of 25-byte ids that they replace (`MEMORY USAGE` of a real Redis);
 * - filters of RedisBloom, if its module is given;
 * - the minimum: log2(1/p) bits per record, with the false-positive rate p of a live month.
 *
 * And how many bytes do the record stores take? Filters are written as by the job, month by month and fold by fold, viewers in any order.
 * Then the tables of MariaDB and LMDB are measured.
 */
import { randomBelow, seededRandom } from '../../core/random.ts'
import { shuffled } from '../../harness/shuffled.ts'
import type { FilterWrite, SeenRecords } from '../../subgraphs/feed-existence/stores/record-store.ts'
import type { Measure } from '../support/report.ts'
import type { BloomPeer, LegacyPeer } from './peers.ts'
import type { DistributedStores, EmbeddedStores } from './servers.ts'
import { BUDGET, ID_BYTES, MONTHS, RATE, RECORDS_OF_SOURCES, VIEWERS_OF_SOURCES, lastOf, makeViewer, type MadeViewer } from './viewers.ts'

const KINDS: [string, number][] = [
  ['light', 40],
  ['medium', 1_000],
  ['heavy', RECORDS_OF_SOURCES],
  ['extreme', 80_000],
]
const BYTES_MAX_TB = 0.75
const TB = 1e12
/** Filters expire in the sixth month after their own, and are read for three months after it. */
const MONTHS_WAITING = 2.5
const CALL = 500

export async function measureSizes(legacy: LegacyPeer, bloom: BloomPeer | undefined, quick: boolean): Promise<Measure[]> {
  const measures: Measure[] = [
    { metric: `floor, ${MONTHS} months of ${(100 * RATE).toFixed(3)}%`, value: Math.log2(1 / RATE), unit: 'bits/record' },
    { metric: 'floor, one filter for all months', value: Math.log2(1 / BUDGET), unit: 'bits/record' },
  ]
  for (const [kind, records] of quick ? KINDS.slice(0, 3) : KINDS) {
    const viewer = makeViewer(900 + records, records)
    const ours = bytesOf(viewer)
    await legacy.put(viewer)
    const sortedSet = await legacy.bytes(viewer)
    const of = `${kind} viewer, ${records} records`
    measures.push(
      { metric: `${of}: filters`, value: ours, unit: 'bytes/viewer' },
      { metric: `${of}: filters`, value: (8 * ours) / records, unit: 'bits/record' },
      { metric: `${of}: filters : floor`, value: (8 * ours) / (records * Math.log2(1 / RATE)), unit: 'ratio' },
      { metric: `${of}: sorted set`, value: sortedSet, unit: 'bytes/viewer' },
      { metric: `${of}: sorted set : filters`, value: sortedSet / ours, unit: 'ratio' },
    )
    if (bloom !== undefined) {
      await bloom.put(viewer)
      measures.push({ metric: `${of}: RedisBloom`, value: await bloom.bytes(viewer), unit: 'bytes/viewer' })
      await bloom.remove(viewer)
    }
    if (records === RECORDS_OF_SOURCES) {
      measures.push(
        { ...extrapolated('filters', ours), target: BYTES_MAX_TB, atMost: true },
        extrapolated(
          'filters, with the months that wait for their expiry',
          ours + MONTHS_WAITING * lastOf(viewer.months.at(-1) ?? []).length,
        ),
        extrapolated('raw ids', RECORDS_OF_SOURCES * ID_BYTES),
        extrapolated('sorted sets of Redis', sortedSet),
      )
    }
    await legacy.remove(viewer)
  }
  return measures
}

/** The bytes that the record stores take for viewers with 10,000 records, everything included except logs. */
export async function measureStored(embedded: EmbeddedStores, distributed: DistributedStores, viewers: number): Promise<Measure[]> {
  // The bytes of a filter are nearly random, so a few viewers stand for all.
  const made = Array.from({ length: 20 }, (_, number) => makeViewer(number, RECORDS_OF_SOURCES))
  const net = made.reduce((sum, viewer) => sum + bytesOf(viewer), 0) / made.length
  await fill(distributed.records, made, viewers)
  const [mysql, ofIndex] = await tableBytes(distributed)
  await distributed.database.send('OPTIMIZE TABLE seen_filters')
  const [rebuilt] = await tableBytes(distributed)
  const before = embedded.bytes()
  await fill(embedded.records, made, viewers)
  const lmdb = embedded.filterBytes()
  return [
    { metric: 'record store, MariaDB: a row of 2500 records', value: mysql / viewers / MONTHS, unit: 'bytes' },
    { metric: 'record store, MariaDB: its part of the index of expiry', value: ofIndex / viewers / MONTHS, unit: 'bytes' },
    { metric: 'record store, MariaDB : filters', value: mysql / viewers / net, unit: 'ratio' },
    extrapolated('MariaDB', mysql / viewers),
    extrapolated('MariaDB after OPTIMIZE TABLE', rebuilt / viewers),
    { metric: 'record store, LMDB : filters', value: lmdb / viewers / net, unit: 'ratio' },
    { metric: 'record store, LMDB: file : filters', value: (embedded.bytes() - before) / viewers / net, unit: 'ratio' },
    extrapolated('LMDB', lmdb / viewers),
  ]
}

function extrapolated(what: string, bytesPerViewer: number): Measure {
  return { metric: `50 million viewers x ${RECORDS_OF_SOURCES}: ${what}`, value: (VIEWERS_OF_SOURCES * bytesPerViewer) / TB, unit: 'TB' }
}

function bytesOf({ months }: MadeViewer): number {
  return months.reduce((sum, states) => sum + lastOf(states).length, 0)
}

/** The oldest month first. Every viewer's filter of a month is written in all its states. */
async function fill(records: SeenRecords, made: readonly MadeViewer[], viewers: number): Promise<void> {
  const random = seededRandom(3)
  for (let back = MONTHS - 1; back >= 0; back--) {
    const states = Math.max(...made.map(({ months }) => months[back]?.length ?? 0))
    for (let state = 0; state < states; state++) {
      const order = shuffled(viewers, random)
      for (let at = 0; at < viewers; at += CALL) {
        const writes = Array.from(order.subarray(at, at + CALL), (number): FilterWrite => {
          const filter = made[number % made.length]?.months[back]?.[state] as Buffer
          const month = 680 - back
          return {
            viewer: String(1_000_000_007 + number * 37),
            month,
            filter,
            expected: state,
            expiresAt: 1.8e12 + randomBelow(random, 2.6e9),
          }
        })
        const written = await records.putFilters(writes)
        if (written.includes(false)) throw new Error('a filter was refused')
      }
    }
  }
}

/** The bytes of the table's file, and of the index in it. */
async function tableBytes({ database }: DistributedStores): Promise<[number, number]> {
  await database.send('ANALYZE TABLE seen_filters')
  const { rows } = await database.send(
    "SELECT data_length + index_length, index_length FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = 'seen_filters'",
  )
  const [all, index] = rows[0] ?? []
  return [Number(all), Number(index)]
}
