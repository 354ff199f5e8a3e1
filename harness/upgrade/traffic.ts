/** Reports, marks and plays during an upgrade, and the outcome of each call. Everything acknowledged is in a ledger. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Call } from '../chaos/calls.ts'
import { makeLedger as makeSeenLedger } from '../chaos/feed-existence/ledger.ts'
import { makeLedger } from '../chaos/history/ledger.ts'
import { startWriters } from '../chaos/history/writers.ts'
import { makeLane, runLane } from '../chaos/lane.ts'
import { makeLedger as makeMarkLedger } from '../chaos/thumbup/ledger.ts'
import { startMarkWriters } from '../chaos/thumbup/writers.ts'
import type { Balancer } from './balancer.ts'

export type Traffic = {
  reports: ReturnType<typeof makeLedger>
  marks: ReturnType<typeof makeMarkLedger>
  plays: ReturnType<typeof makeSeenLedger>
  calls(): number
  slowestMs(): number
  /** Sentences about calls that failed although a process was ready, and about answers that were wrong or not complete. */
  failures: string[]
  /** Waits until a further call of each kind was answered. */
  answered(): Promise<void>
  /** Resolves when the last call was answered. */
  stop(): Promise<void>
}

const LANES = 2
const VIEWERS = 20
const SUBJECTS = 60
const PAUSE_MAX_MS = 60
const PLAY = 'mutation ($id: ID!) { recordPlayed(input: { business: "video", ids: [$id] }) { recordedCount } }'
const PLAY_LANE = 900
const ANSWERED_MAX_MS = 60_000

export function startTraffic({ role, wasOut }: Balancer, seed: number, progress: (text: string) => void): Traffic {
  const [reports, marks, plays] = [makeLedger(), makeMarkLedger(), makeSeenLedger()]
  const failures: string[] = []
  let slowestMs = 0
  const counts: Record<string, number> = { reports: 0, marks: 0, plays: 0 }
  const onWrong = (sentence: string): void => {
    failures.push(sentence)
    progress(sentence)
  }
  const onCall = (kind: string) => (made: Call) => {
    counts[kind] = (counts[kind] ?? 0) + 1
    const { end, begun, ms, operation } = made
    if (end.kind === 'answered') slowestMs = Math.max(slowestMs, ms)
    if (!isFine(end, wasOut(begun))) onWrong(`${operation} of viewer ${made.viewer}, after ${Math.round(ms)} ms: ${wordsOf(end)}`)
  }
  const options = { seed, lanes: LANES, viewers: VIEWERS, subjects: SUBJECTS, pauseMaxMs: PAUSE_MAX_MS, onWrong }
  const reporting = startWriters([role], reports, { ...options, onCall: onCall('reports') })
  const marking = startMarkWriters([role], marks, { ...options, onCall: onCall('marks') })
  const lane = makeLane([role], PLAY_LANE, { seed, onCall: onCall('plays') })
  let played = 0
  const playing = runLane(lane, PAUSE_MAX_MS, async () => {
    const play = { viewer: String(PLAY_LANE), oid: String(++played), playedAt: undefined }
    await lane.insist('play', play.viewer, PLAY, { id: play.oid })
    plays.acknowledge(play, 'API')
  })
  return {
    ...{ reports, marks, plays, failures },
    calls: () => Object.values(counts).reduce((sum, count) => sum + count, 0),
    slowestMs: () => slowestMs,
    async answered() {
      const before = { ...counts }
      const end = performance.now() + ANSWERED_MAX_MS
      while (Object.entries(before).some(([kind, count]) => (counts[kind] ?? 0) < count + LANES + 1)) {
        if (performance.now() > end) throw new Error(`calls are not answered any more: ${JSON.stringify(counts)}`)
        await sleep(20)
      }
    },
    async stop() {
      await Promise.all([reporting.stop(), marking.stop(), playing.stop()])
    },
  }
}

/** `wasOut`: no process was ready when the call began. A client then waits; the lanes ask all the same. */
function isFine(end: Call['end'], wasOut: boolean): boolean {
  if (end.kind === 'answered') return end.degraded.size === 0
  return wasOut && (end.kind === 'lost' || end.code === 'SHUTTING_DOWN')
}

function wordsOf(end: Call['end']): string {
  if (end.kind === 'answered') return `degraded: ${[...end.degraded].join(', ')}`
  return end.kind === 'error' ? `${end.code}: ${end.sentence}` : `no answer: ${end.reason}`
}
