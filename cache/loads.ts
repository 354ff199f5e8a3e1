/**
 * Loads of values that no pool has. A key is loaded once at a time in a process: a call joins the load of another call, and shares its value
 * or its failure. Values that do not exist are remembered for a short time.
 *
 * A load whose value goes to the pools stays joinable for `graceMs` after its end:
 *   1. Calls A and B miss a key in all pools. A loads it and sends the value to the pools.
 *   2. B gets its miss, which left the pool before the value arrived. The load of A has ended.
 *   3. B must not load again.
 *
 * Freshness: a load knows the minimum version of each key at its start. A call with a higher one does not join it, because the load may have
 * read before that change. The same holds for the memory of absent values. A write of this process ends both (`forget`).
 */
import assert from 'node:assert/strict'
import type { Clock } from '../core/clock.ts'
import { makeSlots } from '../core/concurrency-limit.ts'
import { makeSieveCache } from '../core/sieve/sieve.ts'
import type { Load, Stamped } from './tiered-cache.ts'

export type LoadsOptions = {
  /** Concurrent calls of `load`. Minimum 1. */
  loadsAtOnce: number
  /** Milliseconds for which an absent value is remembered. Minimum 0. */
  negativeTtlMs: number
  graceMs: number
}

type Batch = PromiseWithResolvers<readonly (Stamped | undefined)[]>
type Flight = { batch: Batch; index: number; floor: number }

/** Gets the index of a key that the call loaded itself, before any call has the value. */
type OnLoaded = (index: number, stamped: Stamped | undefined) => void

export type Loads = {
  /** True if the key is known not to exist. `floor`: its minimum version. */
  isAbsent(key: string, floor: number): boolean
  /** Values in key order. `floors` are the minimum versions of the keys. Rejects if a load rejects. */
  getMany(keys: readonly string[], floors: readonly number[], load: Load, onLoaded: OnLoaded): Promise<(Stamped | undefined)[]>
  /** To be called after a write of the key, before its acknowledgement. */
  forget(key: string): void
}

const ABSENT_MAX = 16_384

export function makeLoads(clock: Clock, { loadsAtOnce, negativeTtlMs, graceMs }: LoadsOptions): Loads {
  const flights = new Map<string, Flight>()
  /** From a key to its floor at the start of the load that found nothing. */
  const absent = makeSieveCache<number>(clock, { entriesMax: ABSENT_MAX, bytesMax: ABSENT_MAX })
  /** Saves the lookups of a page with thousands of keys: most sites have no absent keys. */
  let mayBeAbsent = false
  const inSlot = makeSlots(loadsAtOnce)

  function remember(key: string, floor: number): void {
    absent.set(key, floor, 1, negativeTtlMs)
    mayBeAbsent = true
  }

  function end(key: string, flight: Flight): void {
    if (flights.get(key) === flight) flights.delete(key)
  }

  async function getMany(keys: readonly string[], floors: readonly number[], load: Load, onLoaded: OnLoaded) {
    const values = Array.from<Stamped | undefined>({ length: keys.length })
    const batch: Batch = Promise.withResolvers()
    const own: { place: number; key: string; flight: Flight }[] = []
    const wanted = new Map<Batch, { place: number; index: number }[]>()
    keys.forEach((key, place) => {
      const floor = floors[place] as number
      let flight = flights.get(key)
      if (flight === undefined || flight.floor < floor) {
        flight = { batch, index: own.length, floor }
        flights.set(key, flight)
        own.push({ place, key, flight })
      }
      const places = wanted.get(flight.batch)
      if (places === undefined) wanted.set(flight.batch, [{ place, index: flight.index }])
      else places.push({ place, index: flight.index })
    })

    const endAll = (): void => {
      for (const { key, flight } of own) end(key, flight)
    }

    async function loadOwn(): Promise<void> {
      try {
        const missing = own.map(({ key }) => key)
        const loaded = await inSlot(() => load(missing))
        assert(loaded.length === own.length, `${own.length} keys were to be loaded, but ${loaded.length} values returned`)
        for (const { place, key, flight } of own) {
          const stamped = loaded[flight.index]
          onLoaded(place, stamped)
          if (stamped === undefined && flights.get(key) === flight) remember(key, flight.floor)
          // The pools do not get it, so there is nothing to bridge.
          if (stamped === undefined || stamped.version < flight.floor) end(key, flight)
        }
        batch.resolve(loaded)
        clock.after(graceMs, endAll)
      } catch (error) {
        endAll()
        batch.reject(error)
      }
    }

    if (own.length > 0) void loadOwn()
    const joined = Array.from(wanted, async ([{ promise }, places]) => {
      const loaded = await promise
      for (const { place, index } of places) values[place] = loaded[index]
    })
    // Waits for all of them: the pools stay open until this call ends, and its own load still fills them.
    const failed = (await Promise.allSettled(joined)).find((each) => each.status === 'rejected')
    if (failed !== undefined) throw failed.reason
    return values
  }

  return {
    getMany,
    isAbsent(key, floor) {
      if (!mayBeAbsent) return false
      const known = absent.get(key)
      return known !== undefined && known >= floor
    },
    forget(key) {
      flights.delete(key)
      absent.delete(key)
    },
  }
}
