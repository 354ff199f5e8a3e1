/** The stores of counters as documented in their ports, in plain maps. The hot one remembers events for ever. */
import type { Subject } from '../../../core/domain.ts'
import { compareIds } from '../../../core/keys.ts'
import { regionOf } from '../../../core/regions.ts'
import { versionAfter } from '../../../core/version.ts'
import type { CountEvent, Counts, VersionedCounts } from '../../../subgraphs/feed/model/counts.ts'
import type { CounterRecords } from '../../../subgraphs/feed/stores/counter-records.ts'
import type { CountOutcome, CounterStore } from '../../../subgraphs/feed/stores/counter-store.ts'

type Held = { subject: Subject; counts: Counts; version: number; since: number | undefined }
export type CountersState = { totals: Map<string, Held>; events: Set<string>; version: number }

export function makeCountersState(): CountersState {
  return { totals: new Map(), events: new Set(), version: 0 }
}

const nameOf = ({ business, oid }: Subject): string => `${business}:${oid}`

function subjectOf(name: string): Subject {
  const at = name.indexOf(':')
  return { business: Number(name.slice(0, at)), oid: name.slice(at + 1) }
}

export type RunCounters<Port> = <T>(name: keyof Port, args: readonly unknown[], act: () => T) => Promise<T>

// oxlint-disable-next-line typescript/require-await -- what the action throws must reject
const immediately = async <T>(_name: unknown, _args: readonly unknown[], act: () => T): Promise<T> => act()

export function openModelCounterStore(state: CountersState, regions: number, run: RunCounters<CounterStore> = immediately): CounterStore {
  function adjustOne(event: CountEvent, now: number): CountOutcome {
    const id = JSON.stringify([nameOf(event.subject), event.counter, event.id])
    if (state.events.has(id)) return 'repeated'
    const held = state.totals.get(nameOf(event.subject))
    if (held === undefined) return 'needs-base'
    const total = (held.counts[event.counter] ?? 0) + event.delta
    if (total < 0 || total > Number.MAX_SAFE_INTEGER) return 'invalid'
    state.events.add(id)
    state.version = versionAfter(state.version, now, held.version)
    held.counts = { ...held.counts, [event.counter]: total }
    held.version = state.version
    held.since ??= now
    return 'counted'
  }

  const dirtyOf = (subject: Subject): Held | undefined => {
    const held = state.totals.get(nameOf(subject))
    return held?.since === undefined ? undefined : held
  }

  return {
    adjust: (events, now) => run('adjust', [events, now], () => events.map((event) => adjustOne(event, now))),
    fillTotals: (bases) =>
      run('fillTotals', [bases], () => {
        for (const { subject, counts, version } of bases)
          if (!state.totals.has(nameOf(subject))) state.totals.set(nameOf(subject), { subject, counts, version, since: undefined })
      }),
    getMany: (subjects) => run('getMany', [subjects], () => subjects.map((subject) => state.totals.get(nameOf(subject))?.counts)),
    readDirty: (subjects) =>
      run('readDirty', [subjects], () =>
        subjects.map((subject) => {
          const held = dirtyOf(subject)
          return held && { counts: held.counts, version: held.version }
        }),
      ),
    clearDirty: (persisted) =>
      run('clearDirty', [persisted], () => {
        for (const { subject, version } of persisted) {
          const held = dirtyOf(subject)
          if (held?.version === version) held.since = undefined
        }
      }),
    listDirty: (some, dirtyBefore, limit) =>
      run('listDirty', [some, dirtyBefore, limit], () =>
        [...state.totals.values()]
          .filter(({ subject, since }) => since !== undefined && since <= dirtyBefore && some.includes(regionOf(subject.oid, regions)))
          .sort((a, b) => (a.since ?? 0) - (b.since ?? 0))
          .slice(0, limit)
          .map(({ subject }) => subject),
      ),
    countDirty: () => run('countDirty', [], () => [...state.totals.values()].filter(({ since }) => since !== undefined).length),
    check: () => run('check', [], () => undefined),
    close: () => Promise.resolve(),
  }
}

export type CounterRecordsState = Map<string, VersionedCounts>

export function openModelCounterRecords(state: CounterRecordsState, run: RunCounters<CounterRecords> = immediately): CounterRecords {
  return {
    putTotals: (rows) =>
      run('putTotals', [rows], () => {
        for (const { subject, counts, version } of rows) {
          if ((state.get(nameOf(subject))?.version ?? -1) >= version) continue
          state.set(nameOf(subject), { counts: Object.fromEntries(Object.entries(counts).filter(([, count]) => count > 0)), version })
        }
      }),
    getTotalsMany: (subjects) => run('getTotalsMany', [subjects], () => subjects.map((subject) => state.get(nameOf(subject)))),
    listTotals: (business, after, limit) =>
      run('listTotals', [business, after, limit], () => {
        const rows = [...state].map(([name, totals]) => ({ subject: subjectOf(name), ...totals }))
        const ours = rows.filter(
          ({ subject: { business: of, oid } }) => of === business && (after === undefined || compareIds(oid, after) > 0),
        )
        return ours.sort((a, b) => compareIds(a.subject.oid, b.subject.oid)).slice(0, limit)
      }),
    countSubjects: () => run('countSubjects', [], () => state.size),
    check: () => run('check', [], () => undefined),
    close: () => Promise.resolve(),
  }
}
