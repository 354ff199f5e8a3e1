/** Settings with which writes are persisted and counted within half a second. With the default settings it takes up to 20 s. */
export const FAST = { history: { flushAgeMaxMs: 200, sweepAfterMs: 1_000 }, thumbup: { flushAgeMaxMs: 200, windowMs: 200 } }
