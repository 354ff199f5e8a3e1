/**
 * Does a feed show a subject again right after the acknowledgement of its play, and how much does hiding it at once cost? Runs on the
 * embedded stores, and on Redis, Kafka and MariaDB, for this checkout and the checkouts of `--against`:
 *
 * 1. Interactions are replayed with the present time. After each acknowledgement the viewer asks `unseen` for the subject.
 * 2. Each interaction is reported as ten heartbeats, in batches of 500 viewers, so one report in ten begins a play. All ten usually
 *    arrive within one flush. A play is then persisted once, and a second staging has the greatest share of the cost. The ten reports of a
 *    real player take three flushes.
 *
 * CPU is user and system time of each process, from a load until everything is persisted, minus the idle CPU of the same process.
 * Nothing polls the processes meanwhile. The checkouts take turns on the same servers, each time with new processes and a warm-up load.
 *
 *     npm run bench -- plays-at-once [--quick] [--file interactions.tsv.gz] [--only embedded|distributed] [--against CHECKOUT]...
 */
import { basename, join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { ask } from '../../harness/deployment/service.ts'
import { runLoad } from '../support/load.ts'
import { openEmbedded, openDistributed, type Served } from './plays-at-once/shapes.ts'
import { cpuMsOf } from '../gateway/remote/process.ts'
import { makeReplaySource } from '../support/replay-load.ts'
import type { BenchOptions, Measure } from '../support/report.ts'

const HEARTBEATS = 10
const BATCH = 500
const VIEWERS_AT_ONCE = 16
const IDLE_MS = 3_000
const FLUSH_MS = 5_000
const REPORT = 'mutation ($reports: [ReportProgressInput!]!) { reportProgressBatch(input: { reports: $reports }) { results { outcome } } }'
const UNSEEN = 'query ($ids: [ID!]!) { unseen(business: "video", candidates: $ids) { ids } }'

type Row = { viewer: string; oid: string }
type Cost = { perSecond: number; micros: Record<string, number> }

export async function bench({ quick, file, only, against = [], progress }: BenchOptions): Promise<Measure[]> {
  const rows = await readRows(file, quick ? 2_000 : 20_000)
  const rounds = quick ? 3 : 7
  const checkouts = [...against, join(import.meta.dirname, '..', '..')]
  const measures: Measure[] = []
  for (const [shape, open] of Object.entries({ embedded: openEmbedded, distributed: openDistributed })) {
    if (only !== undefined && !shape.includes(only)) continue
    const opened = await open({ flushAgeMaxMs: FLUSH_MS, sweepAfterMs: 60_000 })
    const shownAgain = checkouts.map(() => 0)
    const costs = checkouts.map((): Cost[] => [])
    try {
      for (let round = 0; round < rounds; round++) {
        for (const [place, checkout] of checkouts.entries()) {
          const viewers = String(1 + round * checkouts.length + place)
          const served = await opened.serve(checkout)
          const part = rows.slice((round * rows.length) / rounds, ((round + 1) * rows.length) / rounds)
          const again = await countShownAgain(served.url, part, `${viewers}2`)
          const cost = await measureCost(served, rows, viewers)
          await served.stop()
          shownAgain[place] = (shownAgain[place] as number) + again
          costs[place]?.push(cost)
          progress(
            `${shape}, ${basename(checkout)}: ${again} shown again, ${Math.round(cost.perSecond)}/s, µs ${JSON.stringify(cost.micros)}`,
          )
        }
      }
    } finally {
      await opened.remove()
    }
    for (const [place, checkout] of checkouts.entries()) {
      const isOurs = place === against.length
      const title = isOurs ? shape : `${shape}, ${basename(checkout)}`
      measures.push(
        { metric: `${title}: plays shown again`, value: shownAgain[place] as number, unit: '', ...(isOurs && { target: 0, atMost: true }) },
        { metric: `${title}: reports`, value: medianOf((costs[place] ?? []).map(({ perSecond }) => perSecond)), unit: '/s' },
        ...Object.keys(costs[place]?.[0]?.micros ?? {}).map((name) => ({
          metric: `${title}: CPU per report of ${name}`,
          value: medianOf((costs[place] ?? []).map(({ micros }) => micros[name] as number)),
          unit: 'µs',
        })),
      )
    }
  }
  return measures
}

/** Each viewer and subject once, because a repeated subject is already hidden. */
async function readRows(file: string | undefined, max: number): Promise<Row[]> {
  const rows = new Map<string, Row>()
  for await (const { viewer, id: oid } of makeReplaySource(file, max * HEARTBEATS * 2)()) {
    rows.set(`${viewer} ${oid}`, { viewer, oid })
    if (rows.size === max) break
  }
  return [...rows.values()]
}

async function countShownAgain(url: string, rows: readonly Row[], viewers: string): Promise<number> {
  let [next, shownAgain] = [0, 0]
  async function watch(): Promise<void> {
    for (let row = rows[next++]; row !== undefined; row = rows[next++]) {
      const viewer = viewerOf(viewers, row)
      const { data } = await ask(url, viewer, REPORT, { reports: [{ business: 'video', id: row.oid, position: 60_000 }] })
      if (data.reportProgressBatch.results[0].outcome !== 'ACCEPTED')
        throw new Error(`a report was ${data.reportProgressBatch.results[0].outcome}`)
      shownAgain += (await ask(url, viewer, UNSEEN, { ids: [row.oid] })).data.unseen.ids.length
    }
  }
  await Promise.all(Array.from({ length: VIEWERS_AT_ONCE }, watch))
  return shownAgain
}

/** Microseconds per report by process. The `viewers` are new, so each row begins a play. */
async function measureCost(served: Served, rows: readonly Row[], viewers: string): Promise<Cost> {
  const { pids, quiet } = served
  const cpu = () => mapValues(pids, cpuMsOf)
  await sendAll(served, bodiesOf(rows, `${viewers}0`))
  await quiet()
  const bodies = bodiesOf(rows, `${viewers}1`)
  await wait(500)
  const begun = performance.now()
  const before = cpu()
  const seconds = await sendAll(served, bodies)
  await wait(FLUSH_MS + 1_500)
  const after = cpu()
  const elapsed = performance.now() - begun
  await quiet()
  await wait(500)
  const idleFrom = cpu()
  await wait(IDLE_MS)
  const idleTo = cpu()
  const reports = rows.length * HEARTBEATS
  const micros = mapValues(pids, (_, name) => {
    const usedMs = (of: Record<string, number>, from: Record<string, number>) => (of[name] as number) - (from[name] as number)
    const costMs = usedMs(after, before) - (usedMs(idleTo, idleFrom) / IDLE_MS) * elapsed
    return Math.round((costMs * 10_000) / reports) / 10
  })
  return { perSecond: reports / seconds, micros }
}

/** Resolves to the seconds taken. */
async function sendAll({ url }: Served, bodies: string[]): Promise<number> {
  const { seconds } = await runLoad({
    url,
    connections: 4,
    durationMs: 600_000,
    headers: { 'x-viewer-id': 'replay', 'x-viewer-scopes': 'progress:write-any' },
    body: () => bodies.shift(),
    check(body) {
      if (!body.includes('ACCEPTED') || body.includes('REJECTED')) throw new Error(`a batch was not accepted: ${body.slice(0, 300)}`)
    },
  })
  return seconds
}

/** The first heartbeats of many viewers, then their second ones, and so on: a player sends one every 15 s. */
function bodiesOf(rows: readonly Row[], viewers: string): string[] {
  const now = Date.now()
  const reports = Array.from({ length: HEARTBEATS }, (_, beat) =>
    rows.map((row, place) => ({
      ...{ viewer: viewerOf(viewers, row), business: 'video', id: row.oid, position: 15_000 * (beat + 1), duration: 300_000 },
      viewedAt: now - 3_000_000 + place + beat * 15_000,
    })),
  ).flat()
  return Array.from({ length: Math.ceil(reports.length / BATCH) }, (_, at) =>
    JSON.stringify({ query: REPORT, variables: { reports: reports.slice(at * BATCH, (at + 1) * BATCH) } }),
  )
}

function viewerOf(viewers: string, { viewer }: Row): string {
  return `${viewers}${viewer.padStart(8, '0')}`
}

function medianOf(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] as number
}

function mapValues<T, R>(values: Readonly<Record<string, T>>, map: (value: T, name: string) => R): Record<string, R> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, map(value, name)]))
}
