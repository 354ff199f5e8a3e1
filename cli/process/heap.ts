/**
 * How much garbage a process may hold. Left alone, V8 lets a young heap of 128 MB and an old one of four times what lives in it fill
 * up before it looks, which for a gateway that holds 30 MB is most of its memory.
 *
 * Both are bounded, neither by a limit that a process could die of: the young generation by Node's option
 * `--max-semi-space-size`, which only counts from the beginning of a process and therefore stands in the scripts of package.json and in
 * the Dockerfile; the old one here, by how far the heap may grow between two collections, whatever its size.
 */
import { setFlagsFromString } from 'node:v8'

/**
 * V8 notes where objects are made that live long, and makes those in the old generation from then on. The first requests come
 * all at once, to code that is not compiled yet, and what they make lives long by comparison: a process that was unlucky then
 * would fill the old generation with what dies at once for ever, 22 full collections instead of 2 and half as much CPU again
 * per request (`npm run bench -- gateway`).
 */
export function makeAllYoung(): void {
  setFlagsFromString('--no-allocation-site-pretenuring')
}

/** `percent` of what was alive after a collection may be added before the next; 0: as V8 likes. */
export function boundGarbage(percent: number): void {
  setFlagsFromString(`--heap-growing-percent=${percent}`)
}
