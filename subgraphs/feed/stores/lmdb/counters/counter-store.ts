/**
 * The hot store of counters on LMDB (`totals.ts`). Each port call is one transaction. Events of old periods are removed by later calls, a few
 * more than each call adds.
 */
import type { Subject } from '../../../../../core/domain.ts'
import { regionOf } from '../../../../../core/regions.ts'
import { dirtyMark, keyOfMark, marksUntil, regionOfMark } from '../../../../../stores/lmdb/dirty-marks.ts'
import type { Environment } from '../../../../../stores/lmdb/environment.ts'
import { failingAs } from '../../../../../stores/lmdb/failures.ts'
import { countEntries } from '../../../../../stores/lmdb/scan.ts'
import { beginVersions, lastVersion, nextVersion, settleVersions, type VersionCounter } from '../../../../../stores/lmdb/version-counter.ts'
import { flushedCountsOf, type CountEvent, type CounterSchemas, type Counts } from '../../../model/counts.ts'
import { REMEMBER_MS, type CountOutcome, type CounterStore } from '../../counter-store.ts'
import { EVENT_HASH_BYTES, hashOfEvent } from '../../event-hash.ts'
import { NOTHING, eventKey, openTotals, type Totals } from './totals.ts'

/** Removed per call, besides twice the number of its events. */
const FORGOTTEN_PER_CALL = 16

/** The environment stays open when the store is closed, since others may use it. */
export function openLmdbCounterStore(environment: Environment, schemas: CounterSchemas, rememberMs = REMEMBER_MS): CounterStore {
  const totals = openTotals(environment, schemas)
  const { dirty, schemaOf, read, write } = totals
  const businesses = [...schemas.keys()]
  let isRepacked = false

  /** Before the first call. A store that is full and needs no change is not written to. */
  async function repack(): Promise<void> {
    if (!environment.read(() => businesses.every(totals.isPacked))) await environment.write(totals.repack)
    isRepacked = true
  }

  const calling = <T>(task: () => T | Promise<T>): Promise<T> =>
    failingAs('HOT_STORE_UNAVAILABLE', environment.folder, () => (isRepacked ? task() : repack().then(task)))
  const reading = <T>(action: () => T): Promise<T> => calling(() => environment.read(action))

  return {
    adjust: (some, now) =>
      calling(() =>
        environment.write(() => {
          const period = Math.floor(now / rememberMs)
          const versions = beginVersions(totals.counters)
          const outcomes = some.map((event) => adjustOne(totals, environment.regions, versions, event, { now, period }))
          settleVersions(versions)
          forgetEvents(totals, period - 1, 2 * some.length + FORGOTTEN_PER_CALL)
          return outcomes
        }),
      ),

    /** A known subject may have a higher version than the counter, from the record store: it is the floor of its next one. */
    async fillTotals(bases) {
      await calling(() =>
        environment.write(() => {
          for (const { subject, counts: base, version } of bases)
            if (read(subject) === undefined) write(subject, { since: 0, version, packed: schemaOf(subject).pack(base) })
        }),
      )
    },

    getMany: (subjects) =>
      reading(() =>
        subjects.map((subject): Counts | undefined => {
          const held = read(subject)
          return held && schemaOf(subject).unpack(held.packed)
        }),
      ),

    readDirty: (subjects) =>
      reading(() =>
        subjects.map((subject) => {
          const held = read(subject)
          return held === undefined || held.since === 0
            ? undefined
            : { version: held.version, counts: schemaOf(subject).unpack(held.packed) }
        }),
      ),

    async clearDirty(persisted) {
      await calling(() =>
        environment.writeToFree(() => {
          for (const { subject, version } of persisted) {
            const held = read(subject)
            if (held === undefined || held.since === 0 || held.version !== version) continue
            void dirty.remove(markOf(subject, held.since, environment.regions))
            write(subject, { ...held, since: 0 })
          }
        }),
      )
    },

    listDirty: (regions, dirtyBefore, limit) =>
      reading(() => {
        const wanted = new Set(regions)
        const found: Subject[] = []
        for (const mark of dirty.getKeys({ end: marksUntil(dirtyBefore) })) {
          if (found.length >= limit) break
          if (!wanted.has(regionOfMark(mark))) continue
          const { viewer, business } = keyOfMark(mark)
          found.push({ business, oid: viewer })
        }
        return found
      }),
    countDirty: () => reading(() => countEntries(dirty)),
    check: () => reading(() => void lastVersion(beginVersions(totals.counters))),
    close: () => Promise.resolve(),
  }
}

function adjustOne(
  { dirty, events, schemaOf, read, write }: Totals,
  regions: number,
  versions: VersionCounter,
  event: CountEvent,
  { now, period }: { now: number; period: number },
): CountOutcome {
  const { subject, counter, delta } = event
  const hash = hashOfEvent(event)
  // The clock of another process may be in the next period already.
  if ([period - 1, period, period + 1].some((each) => events.getBinary(eventKey(each, hash)) !== undefined)) return 'repeated'
  const held = read(subject)
  if (held === undefined) return 'needs-base'
  const packed = schemaOf(subject).add(held.packed, { [counter]: delta })
  if (packed === undefined) return 'invalid'
  if (held.since === 0) void dirty.put(markOf(subject, now, regions), NOTHING)
  write(subject, { since: held.since || now, version: nextVersion(versions, now, held.version), packed })
  void events.put(eventKey(period, hash), NOTHING)
  return 'counted'
}

function forgetEvents({ events }: Totals, before: number, limit: number): void {
  const old = Array.from(events.getKeys({ end: eventKey(before, Buffer.alloc(EVENT_HASH_BYTES)), limit }))
  for (const key of old) void events.remove(key)
}

function markOf(subject: Subject, since: number, regions: number): Buffer {
  return dirtyMark(since, regionOf(subject.oid, regions), flushedCountsOf(subject))
}
