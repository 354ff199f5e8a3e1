/**
 * The queue of SIEVE (`sieve.ts`): cells in order of arrival, a `visited` bit each, and the hand that evicts. It is linked
 * through typed arrays, made once. They are not written before a cell is first used, so unused cells take no memory.
 */
export const NO_CELL = -1

export type SieveQueue = ReturnType<typeof makeSieveQueue>

export function makeSieveQueue(cellsMax: number) {
  const visited = new Uint8Array(cellsMax)
  const newer = new Int32Array(cellsMax)
  /** For a free cell: the next free one. */
  const older = new Int32Array(cellsMax)
  let newest = NO_CELL
  let oldest = NO_CELL
  /** The end of the last eviction; NO_CELL: the next one begins at the oldest entry. */
  let hand = NO_CELL
  let free = NO_CELL
  /** This cell and all later ones were never used. */
  let unused = 0

  function clear(): void {
    newest = oldest = hand = free = NO_CELL
    unused = 0
  }

  /** Takes a free cell, and makes it the newest. A cell that was never used is the next number. */
  function append(): number {
    const cell = free === NO_CELL ? unused++ : free
    if (cell === free) free = older[cell] as number
    visited[cell] = 0
    older[cell] = newest
    newer[cell] = NO_CELL
    if (newest === NO_CELL) oldest = cell
    else newer[newest] = cell
    newest = cell
    return cell
  }

  /** The cell to evict, never `kept`. Ends within two rounds: the first clears every bit. */
  function findVictim(kept: number): number {
    let cell = hand === NO_CELL ? oldest : hand
    while (visited[cell] === 1 || cell === kept) {
      visited[cell] = 0
      cell = newer[cell] === NO_CELL ? oldest : (newer[cell] as number)
    }
    hand = cell
    return cell
  }

  function remove(cell: number): void {
    const [before, after] = [older[cell] as number, newer[cell] as number]
    if (hand === cell) hand = after
    if (before === NO_CELL) oldest = after
    else newer[before] = after
    if (after === NO_CELL) newest = before
    else older[after] = before
    older[cell] = free
    free = cell
  }

  return { visited, append, findVictim, remove, clear, isFull: () => free === NO_CELL && unused === cellsMax }
}
