/**
 * Identical queries that are under way at the same time are one call. Whoever comes while it runs joins it and gets a tree
 * of his own: answers belong to those who ask, and the executor writes into them.
 *
 * Joining must not show a client less than he wrote. The order of events that would:
 *   1. a query begins, and the subgraph reads;   2. a mutation is acknowledged;   3. its writer asks the same query
 * so a mutation ends a generation when it is acknowledged, and a query joins only calls of its own generation. Those of
 * the generation before run on for the ones who wait for them.
 */
import { copyOf } from './copy.ts'
import type { FetchResult } from './transport.ts'

type Flight = { readonly answer: Promise<FetchResult>; readonly generation: number; takers: number }

export type Sharing = {
  /** Joins the call with this key, or begins it. `joined` tells which. */
  join(key: string, begin: () => Promise<FetchResult>, joined: () => void): Promise<FetchResult>
  /** From now on nobody joins what has begun before. */
  nextGeneration(): void
  readonly size: number
}

export function makeSharing(): Sharing {
  const flights = new Map<string, Flight>()
  let generation = 0

  async function take(flight: Flight): Promise<FetchResult> {
    const result = await flight.answer
    flight.takers -= 1
    // The last one may have the original: nobody copies it after him.
    return flight.takers === 0 || result.data == null ? result : { ...result, data: copyOf(result.data) }
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
