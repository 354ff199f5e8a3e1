/**
 * The reports of a replay: recorded interactions, each row as ten heartbeats of a player, or a sample of the same form.
 * Given as often as they are asked for, always the same: once to be sent, once to be compared with.
 */
import { readReports, type WireReport } from '../cli/replay.ts'
import { sampleReports } from '../cli/sample.ts'

const HEARTBEATS = 10
const BUSINESS = 'video'
/** Below this a report is a glance, which does not move a resume point: a plain sort could not tell what comes out. */
const POSITION_MIN = 5_000

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

/** About as many viewers and subjects as the recorded interactions of a small site have in a million reports. */
async function* sample(reports: number): AsyncGenerator<WireReport> {
  const options = { viewers: 13_500, subjects: 8_400, reports, seed: 1, skew: 1, from: 1_700_000_000_000, businesses: [BUSINESS] }
  for (const report of sampleReports(options)) yield { ...report, position: Math.max(POSITION_MIN, report.position) }
}
