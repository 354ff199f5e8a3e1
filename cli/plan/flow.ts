/**
 * The write-back as rates: how many log messages, rows and statements a second a rate of reports becomes.
 *
 * A gateway flushes a region when it holds `flushKeysMax` keys of the region, or when the oldest of them is `flushAgeMaxMs` old. A viewer
 * who watches sends `window / heartbeat` reports for one key in a window. Each report may reach any gateway, so the same key leaves several
 * gateways. With h reports and G gateways, a gateway has the key with the probability 1 - (1 - 1/G)^h.
 */
import type { Config } from '../../config/config.ts'

export type Flow = {
  /** Seconds for which a gateway collects the keys of a region. */
  windowSeconds: number
  /** Keys that all gateways hold at most. */
  keysHeld: number
  /** Reports that become one row. */
  collapse: number
  keysPerMessage: number
  messagesPerSecond: number
  rowsPerSecond: number
  /** At most: a job writes small messages that wait together in one statement. */
  statementsPerSecond: number
}

/** Rows of a multi-row upsert at most. */
const ROWS_PER_STATEMENT = 512

const NO_FLOW = { keysHeld: 0, collapse: 1, keysPerMessage: 0, messagesPerSecond: 0, rowsPerSecond: 0, statementsPerSecond: 0 }

/** `reports`: per second. `watching`: viewers who send them. */
export function flowOf(
  { reports, watching }: { reports: number; watching: number },
  gateways: number,
  { history, stores }: Pick<Config, 'history' | 'stores'>,
): Flow {
  const ageMax = history.flushAgeMaxMs / 1_000
  if (reports === 0) return { windowSeconds: ageMax, ...NO_FLOW }
  const regions = Math.min(stores.regions, watching)
  /** Keys of one region that one gateway has this long after the first one. */
  const keysAfter = (seconds: number): number => {
    const sent = (reports * seconds) / watching
    const whole = Math.floor(sent)
    const isThere = 1 - (1 - 1 / gateways) ** whole * (1 - (sent - whole) / gateways)
    return 1 + (watching / regions - 1) * isThere
  }
  const windowSeconds = timeUntil(history.flushKeysMax, ageMax, keysAfter)
  const keysPerMessage = Math.min(history.flushKeysMax, keysAfter(windowSeconds))
  const firstReportSeconds = (regions * gateways) / reports
  const messagesPerSecond = (regions * gateways) / (windowSeconds + firstReportSeconds)
  const rowsPerSecond = messagesPerSecond * keysPerMessage
  return {
    windowSeconds,
    keysHeld: regions * gateways * keysPerMessage,
    collapse: reports / rowsPerSecond,
    keysPerMessage,
    messagesPerSecond,
    rowsPerSecond,
    statementsPerSecond: messagesPerSecond * Math.ceil(keysPerMessage / ROWS_PER_STATEMENT),
  }
}

/** The time at which a growing function reaches a value, at most `max`. */
function timeUntil(value: number, max: number, grown: (seconds: number) => number): number {
  if (grown(max) <= value) return max
  let [low, high] = [0, max]
  for (let step = 0; step < 50; step++) {
    const middle = (low + high) / 2
    if (grown(middle) < value) low = middle
    else high = middle
  }
  return high
}
