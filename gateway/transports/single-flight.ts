/**
 * Identical queries that are under way at the same time share one call. A query that joins gets its own copy of the tree, because the
 * executor writes into trees.
 *
 * Joining must never hide a client's own write. The order of events that would hide it:
 *   1. a query begins, and the subgraph reads;   2. a mutation is acknowledged;   3. its client sends the same query
 *
 * An acknowledged mutation therefore ends a generation, and a query joins only calls of its own generation. Calls of older generations
 * continue for the queries that wait for them.
 */
import { copyOf } from './tree-copy.ts'
import type { FetchResult } from './transport.ts'

type Flight = { readonly answer: Promise<FetchResult>; readonly generation: number; takers: number }

export type SingleFlight = {
  /** Joins the call with this key, or begins it. `joined` is called if the query joined. */
  join(key: string, begin: () => Promise<FetchResult>, joined: () => void): Promise<FetchResult>
  /** Later queries do not join calls that have begun. */
  nextGeneration(): void
  readonly size: number
}

export function makeSingleFlight(): SingleFlight {
  const flights = new Map<string, Flight>()
  let generation = 0

  async function take(flight: Flight): Promise<FetchResult> {
    const result = await flight.answer
    flight.takers -= 1
    // The last query gets the original, because all others have their copies.
    return flight.takers === 0 ? result : { ...result, data: copyOf(result.data) }
  }

  return {
    join(key, begin, joined) {
      const known = flights.get(key)
      if (known !== undefined && known.generation === generation) {
        known.takers += 1
        joined()
        return take(known)
      }
      const flight: Flight = {
        answer: begin().finally(() => {
          if (flights.get(key) === flight) flights.delete(key)
        }),
        generation,
        takers: 1,
      }
      flights.set(key, flight)
      return take(flight)
    },
    nextGeneration() {
      generation += 1
    },
    get size() {
      return flights.size
    },
  }
}
