/** History is flushed after 0.2 s, and marks are counted after about 0.6 s at most. The defaults take up to 60 s and 21 s. */
export const FAST = { history: { flushAgeMaxMs: 200, sweepAfterMs: 1_000 }, thumbup: { flushAgeMaxMs: 200, windowMs: 200 } }
