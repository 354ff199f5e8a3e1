/**
 * The candidates of a call, without repetitions. They are found by the hashes that the filters need anyway. A `Set` takes three times as
 * long: it hashes every string again, since the strings have just come over the network, and grows as it is filled.
 *
 * Two ids are equal if their characters are; hashes only choose the ids to compare. Places in the table depend on two secret numbers, so
 * that a client cannot choose ids that all share one place.
 */
import type { BusinessNumber } from '../../../core/domain.ts'
import type { Random } from '../../../core/random.ts'
import { hashSeen, type SeenHashes } from '../filter/hash.ts'

export type Candidates = {
  /** Hashes of all candidates, dropped ones included. */
  readonly hashes: SeenHashes
  /** False for repetitions and for dropped candidates. */
  isLeft(at: number): boolean
  /** Returns the number of candidates that were still left. */
  drop(known: ReadonlySet<string> | ReadonlyMap<string, unknown>): number
}

/** The result is valid until the next call: all calls share one table. */
export type CandidateTable = (business: BusinessNumber, ids: readonly string[]) => Candidates

type Table = {
  /** For each place, the index of its candidate plus one, or 0. At least half of the places are free. */
  places: Uint32Array
  ids: readonly string[]
  hashes: SeenHashes
  salt1: number
  salt2: number
  shift: number
}

export function makeCandidateTable(random: Random): CandidateTable {
  const [salt1, salt2] = [oddWord(random), oddWord(random)]
  let memory = new Uint32Array(0)

  return (business, ids) => {
    const bits = Math.max(1, Math.ceil(Math.log2(ids.length * 2)))
    if (memory.length < 2 ** bits) memory = new Uint32Array(2 ** bits)
    const places = memory.subarray(0, 2 ** bits).fill(0)
    const hashes = hashSeen(business, ids)
    const isGone = new Uint8Array(ids.length)
    const all: Table = { places, ids, hashes, salt1, salt2, shift: 32 - bits }
    for (let at = 0; at < ids.length; at++) {
      const place = placeOf(all, ids[at] as string, hashes[2 * at] as number, hashes[2 * at + 1] as number)
      if (places[place] === 0) places[place] = at + 1
      else isGone[at] = 1
    }

    function dropAt(at: number): number {
      if (at < 0 || isGone[at] === 1) return 0
      return (isGone[at] = 1)
    }

    return {
      hashes,
      isLeft: (at) => isGone[at] === 0,
      // Iterates over the smaller of the two.
      drop(known) {
        if (known.size > ids.length) return ids.reduce((sum, id, at) => (known.has(id) ? sum + dropAt(at) : sum), 0)
        const theirs = [...known.keys()]
        const hashes = hashSeen(business, theirs)
        return theirs.reduce((sum, id, i) => {
          const place = placeOf(all, id, hashes[2 * i] as number, hashes[2 * i + 1] as number)
          return sum + dropAt((places[place] as number) - 1)
        }, 0)
      },
    }
  }
}

/** The place of the id, or the free place for it. */
function placeOf({ places, ids, hashes, salt1, salt2, shift }: Table, id: string, hash1: number, hash2: number): number {
  let place = (Math.imul(hash1, salt1) + Math.imul(hash2, salt2)) >>> shift
  for (;;) {
    const there = (places[place] as number) - 1
    if (there < 0) return place
    if (hashes[2 * there] === hash1 && hashes[2 * there + 1] === hash2 && ids[there] === id) return place
    place = (place + 1) & (places.length - 1)
  }
}

function oddWord(random: Random): number {
  return (Math.floor(random() * 2 ** 32) | 1) >>> 0
}
