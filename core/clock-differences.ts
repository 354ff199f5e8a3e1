/**
 * Clocks differ: device clocks from the server's, and the clocks of processes from each other. Two rules keep a viewer's writes in order.
 *
 * A time ahead of the server's clock counts as the server's current time. A device therefore cannot date a write into the future, where it
 * would beat later writes and move clearings and deletions with it. Past times stay as they are: the last write by time wins, in any order
 * of arrival.
 *
 * A current write that the hot store calls stale is put again (`writeback/put.ts`), just above the write that overtook it. A write, clearing
 * or deletion by one process may lie ahead of another process's clock. A viewer who then writes through the other process must still win:
 * the arrival decides, not the clock. This is the hybrid clock of the hot store's versions, `max(now, last + 1)`, kept per key. It costs
 * something only where clocks differ, or within one millisecond.
 *
 * Only the process that has the viewer's request puts again, after an answer. The hot store must not do it by itself: a put that is sent
 * again, or arrives late from a dead process, would restore data that was cleared in the meantime. For the same reason a journaled write
 * keeps the time at which it was accepted. A write that the hot store calls stale after it was sent twice (`repeated`) stays stale: its
 * first execution may have come before the write or clearing that overtook it. The adapter notes `repeated` if an answer was lost. The
 * callers note it if they put a batch again because a part of the hot store failed.
 */

/** Replaces times ahead of the clock, within one call. */
export type TimesAhead = ReadonlyMap<number, number>

/**
 * Several times ahead in one call come from one clock. The newest counts as the current time, and each one before it as a millisecond
 * earlier, so that their order stays. Undefined if fewer than two are ahead.
 */
export function orderAhead(times: readonly (number | null | undefined)[], now: number): TimesAhead | undefined {
  const ahead = new Set<number>()
  for (const time of times) if (typeof time === 'number' && time > now) ahead.add(time)
  if (ahead.size < 2) return undefined
  return new Map([...ahead].sort((a, b) => b - a).map((time, place) => [time, now - place]))
}

/** The time that counts for a time given by a client. */
export function countedTime(given: number, now: number, ahead: TimesAhead | undefined): number {
  return given > now ? (ahead?.get(given) ?? now) : given
}

/** The outcome of a write that was also put before, perhaps with success. */
export function asRepeated<O extends { status: string }>(outcome: O): O {
  return outcome.status === 'stale' || outcome.status === 'needs-base' ? { ...outcome, repeated: true } : outcome
}
