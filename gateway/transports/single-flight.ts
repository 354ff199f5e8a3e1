/**
 * Identical queries that are under way at the same time are one call. Whoever comes while it runs joins it and gets a tree
 * of his own: answers belong to those who ask, and the executor writes into them.
 *
 * Joining must not show a client less than he wrote. The order of events that would:
 *   1. a query begins, and the subgraph reads;   2. a mutation is acknowledged;   3. its writer asks the same query
 * so a mutation ends a generation when it is acknowledged, and a query joins only calls of its own generation. Those of
 * the generation before run on for the ones who wait for them.
 */
import { ownResult } from './answer-cache.ts'
import type { Read } from './transport.ts'

type Flight = { readonly answer: Promise<Read>; readonly generation: number; takers: number }

export type SingleFlight = {
  /** Joins the call with this key, or begins it. `joined` tells which. */
  join(key: string, begin: () => Promise<Read>, joined: () => void): Promise<Read>
  /** From now on nobody joins what has begun before. */
  nextGeneration(): void
  readonly size: number
}

export function makeSingleFlight(): SingleFlight {
  const flights = new Map<string, Flight>()
  let generation = 0

  async function take(flight: Flight): Promise<Read> {
    const read = await flight.answer
    flight.takers -= 1
    // A remembered tree is copied by those who write into it. Of another the last one may have the original, since all
    // before him have got their copies.
    return read.kept !== undefined || flight.takers === 0 ? read : { result: ownResult({ ...read, kept: flight }), kept: undefined }
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
