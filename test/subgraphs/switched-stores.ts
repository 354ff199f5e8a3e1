/**
 * The history subgraph on the model stores of the simulator, each of which can be switched off or made to hang, and on a real journal in
 * its own folder.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock, type Clock } from '../../core/clock.ts'
import { makeConfig } from '../../config/config.ts'
import { UNAVAILABLE } from '../../core/outage/degraded.ts'
import { TidemarkError, type ErrorCode } from '../../core/errors.ts'
import { openLmdbJournals } from '../../writeback/stores/lmdb/journal.ts'
import type { Journals } from '../../writeback/journal.ts'
import { makeHistorySubgraph, type HistorySubgraph } from '../../subgraphs/history/index.ts'
import type { Gate, StoreName } from '../../harness/simulation/gate.ts'
import { makeHotState } from '../../harness/simulation/history/model-hot-state.ts'
import { openModelHotStore } from '../../harness/simulation/history/model-hot-store.ts'
import { makeLogState, openModelLog } from '../../harness/simulation/model-log.ts'
import { makeRecordState, openModelRecordStore } from '../../harness/simulation/history/model-record-store.ts'

export type Switch = 'up' | 'down' | 'hangs'
const CODES = {
  ...{ hot: UNAVAILABLE.hotStore, cache: UNAVAILABLE.hotStore, log: UNAVAILABLE.log, records: UNAVAILABLE.recordStore },
  ...{ events: UNAVAILABLE.log, journal: UNAVAILABLE.hotStore, legacy: UNAVAILABLE.legacyStore },
}
const REGIONS = 4

export type SwitchedStores = ReturnType<typeof makeSwitchedStores>

export function makeSwitchedStores() {
  const states: Record<StoreName, Switch> = { hot: 'up', cache: 'up', log: 'up', records: 'up', events: 'up', journal: 'up', legacy: 'up' }
  const calls: string[] = []
  let refuse: (call: string, args: readonly unknown[]) => ErrorCode | undefined = () => undefined
  const gate: Gate = {
    async call(store, name, args, parts, answer) {
      calls.push(`${store}.${name}`)
      await Promise.resolve()
      if (states[store] === 'hangs') return new Promise(() => undefined)
      if (states[store] === 'down') throw new TidemarkError(CODES[store], `the model's ${store} is down`)
      const code = refuse(`${store}.${name}`, args)
      if (code !== undefined) throw new TidemarkError(code, `the model's ${store} refuses ${name}`)
      for (const part of parts) part()
      return answer()
    },
  }
  const state = makeHotState({ regions: REGIONS, clearing: 'forgets', faults: {} })
  const records = makeRecordState()
  const logState = makeLogState({ regions: REGIONS, partitions: 1, batchMax: 100, retryMs: 20, faults: {} })
  return {
    hot: openModelHotStore(state, gate),
    log: openModelLog(logState, gate, systemClock),
    records: openModelRecordStore(records, gate),
    state,
    logState,
    rows: records.rows,
    calls,
    set(store: StoreName, to: Switch): void {
      states[store] = to
    },
    /** Single calls such as hot.putProgress fail with the code that this function returns. */
    refuse(wanted: typeof refuse): void {
      refuse = wanted
    },
  }
}

export const config = makeConfig([
  {
    name: 'test',
    values: {
      stores: { regions: REGIONS },
      history: { timelineCap: 10, flushAgeMaxMs: 20, flushKeysMax: 5, sweepAfterMs: 40, sweepEveryMs: 20 },
    },
  },
])

export type Folder = { path: string; remove(): void }

export function makeDataFolder(): Folder {
  const path = mkdtempSync(join(tmpdir(), 'tidemark-journal-'))
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) }
}

export type Served = { history: HistorySubgraph; journals: Journals; errors: unknown[]; stop(): Promise<void> }

/** A serving process with its own journal below `data`. */
export function serveOn(stores: SwitchedStores, data: string, clock: Clock = systemClock, settings = config): Served {
  const journals = openLmdbJournals(data)
  const errors: unknown[] = []
  const history = makeHistorySubgraph(clock, { ...stores, journals }, settings, (error) => errors.push(error), {
    checkEveryMs: 10,
    recordPatienceMs: 500,
    logPatienceMs: 500,
  })
  return {
    history,
    journals,
    errors,
    async stop() {
      await history.drain()
      await journals.close()
    },
  }
}
