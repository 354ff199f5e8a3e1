/**
 * The reports of a replay: recorded interactions, or a sample of the same form, each row as ten heartbeats of a player.
 * Every iteration gives the same reports: a benchmark sends them first and compares with them later.
 */
import { readReports } from '../../cli/replay/replay.ts'
import { randomBelow, seededRandom } from '../../core/random.ts'
import type { WireReport } from '../../cli/replay/options.ts'

const HEARTBEATS = 10
const HEARTBEAT_MS = 15_000
const BUSINESS = 'video'
/** Like a small site: recorded interactions have about seven rows per viewer and twelve per subject. */
const ROWS_PER_VIEWER = 7
const ROWS_PER_SUBJECT = 12
const START = 1_300_000_000_000
const ROW_EVERY_MS = 60_000

export type ReplaySource = () => AsyncGenerator<WireReport>

export function makeReplaySource(file: string | undefined, reports: number): ReplaySource {
  return file === undefined ? () => sample(reports) : () => recorded(file, reports)
}

async function* recorded(file: string, reportsMax: number): AsyncGenerator<WireReport> {
  let count = 0
  for await (const report of readReports(file, { heartbeats: HEARTBEATS, business: BUSINESS })) {
    if (count++ === reportsMax) return
    yield report
  }
}

/** Rows ordered by time. Few subjects get most views (the cube of a uniform random number); viewers are uniform. */
async function* sample(reports: number): AsyncGenerator<WireReport> {
  const random = seededRandom(1)
  const rows = Math.ceil(reports / HEARTBEATS)
  const viewers = Math.ceil(rows / ROWS_PER_VIEWER)
  const subjects = Math.ceil(rows / ROWS_PER_SUBJECT)
  for (let row = 0; row < rows; row++) {
    const viewer = String(1 + randomBelow(random, viewers))
    const id = String(1 + Math.floor(subjects * random() ** 3))
    for (let beat = 0; beat < HEARTBEATS; beat++) {
      yield {
        viewer,
        business: BUSINESS,
        id,
        position: HEARTBEAT_MS * (beat + 1),
        duration: HEARTBEAT_MS * HEARTBEATS * 2,
        viewedAt: START + row * ROW_EVERY_MS + beat * HEARTBEAT_MS + (row % 7),
      }
    }
  }
}
