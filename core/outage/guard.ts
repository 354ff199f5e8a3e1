/**
 * Guarded stores: the ports as the service uses them, each behind a breaker, so that a failed store costs a request nothing. Jobs use the
 * ports without breakers: they may wait, and they retry without limit.
 *
 * A table names the guarded methods of a port, with the key of each call: the viewers for the hot store, the read for the record store.
 */
import type { Clock } from '../clock.ts'
import type { RewardEvent, ViewerId } from '../domain.ts'
import { makeBreaker, type Breaker } from './breaker.ts'
import { makePartBreaker, type PartBreaker } from './part-breaker.ts'
import { apartIfPartIsOut } from './part-outage.ts'
import type { RecordReadsOptions } from './record-reads.ts'

/** The options of every guarded store. */

export type GuardOptions = RecordReadsOptions & {
  /** Milliseconds between two checks of a store that is down. Default 1000. */
  checkEveryMs?: number
  /** Milliseconds a read of the record store may take. Default 3000. */
  recordPatienceMs?: number
  /** Milliseconds an append to the log may take. Default 5000. */
  logPatienceMs?: number
}

/** The breakers that every capability has. */
export type StoreBreakers = { hotStore: PartBreaker; log: Breaker; recordStore: Breaker }

type Checked = { check(): Promise<void> }

export function makeStoreBreakers(
  clock: Clock,
  { hot, log, records }: { hot: Parameters<typeof makePartBreaker>[1]; log: Checked; records: Checked },
  { checkEveryMs = 1_000, recordPatienceMs = 3_000, logPatienceMs = 5_000 }: GuardOptions,
  onError: (error: unknown) => void,
): StoreBreakers {
  return {
    hotStore: makePartBreaker(clock, hot, { checkEveryMs }, onError),
    log: makeBreaker(clock, 'log', () => log.check(), { checkEveryMs, patienceMs: logPatienceMs }, onError),
    recordStore: makeBreaker(
      clock,
      'recordStore',
      () => records.check(),
      { checkEveryMs, patienceMs: recordPatienceMs, checksFirst: true },
      onError,
    ),
  }
}

/** For each guarded method of a store: a function from its arguments to the key under which it runs. */
type GuardTable<S, Key> = {
  [Method in keyof S]?: S[Method] extends (...args: infer Args) => Promise<unknown> ? (...args: Args) => Key : never
}

/** The store with these methods behind `run`, such as that of a breaker. Further methods stay as they are. */
export function guardMethods<S extends object, Key>(
  store: S,
  run: <T>(key: Key, call: () => Promise<T>) => Promise<T>,
  table: GuardTable<S, Key>,
): S {
  const methods = store as Record<string, (...args: unknown[]) => Promise<unknown>>
  const guarded: Record<string, unknown> = {}
  for (const [name, keyOf] of Object.entries(table) as [string, (...args: unknown[]) => Key][]) {
    guarded[name] = (...args: unknown[]) => run(keyOf(...args), () => (methods[name] as (typeof methods)[string])(...args))
  }
  return { ...store, ...guarded }
}

/** The viewers of the items, as the key of a call to the hot store. */
export function viewersOf(items: readonly { viewer: ViewerId }[]): ViewerId[] {
  return items.map((item) => item.viewer)
}

/** Confirms rewards part by part: rewards that are not confirmed are sent again, so no viewer's waits for another's part. */
export async function confirmByParts(
  rewards: readonly RewardEvent[],
  { run }: Pick<PartBreaker, 'run'>,
  confirm: (some: readonly RewardEvent[]) => Promise<void>,
): Promise<void> {
  await apartIfPartIsOut(rewards, async (some) => {
    await run(viewersOf(some), () => confirm(some))
    return some
  })
}
