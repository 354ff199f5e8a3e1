/**
 * Marks in batches of 100 to 500 through the gateway, as fast as they are accepted, and their write-back: a subject gets one update of its
 * counts per window, for any number of marks. Then the same with marks of strangers: viewers that the hot store does not know. Each stranger
 * has one mark, so a store that learns viewers has no use of it.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { callApi, readMetrics } from '../../conformance/api-client.ts'
import { randomBelow, seededRandom } from '../../core/random.ts'
import { runLoad } from '../support/load.ts'
import type { Measure } from '../support/report.ts'
import { BUSINESS } from './dataset.ts'

const PER_SECOND_MIN = 15_000
const UNKNOWN_MIN = 15_000
const VIEWERS = 5_000
const SUBJECTS = 2_000
const BODIES = 400
const FIRST_STRANGER = 1_000_001
/** Enough for 60,000 marks per second. */
const STRANGERS_BODIES_PER_SECOND = 200
const CONNECTIONS = 8
const SETTLED_MAX_MS = 120_000
const LOOK = 'query Look($business: String!, $ids: [ID!]!) { subjects(business: $business, ids: $ids) { viewerMark } }'
const MARK = 'mutation Mark($marks: [SetMarkInput!]!) { setMarkBatch(input: { marks: $marks }) { results { outcome } } }'

type Addresses = { url: string; job: string }

/** `job`: the address of the job's metrics, or the gateway's own address if it runs the job. */
export async function measureWrites(shape: string, addresses: Addresses, seconds: number): Promise<Measure[]> {
  const { url, job } = addresses
  const batches = makeBatches(BODIES, (random) => 1 + randomBelow(random, VIEWERS))
  let next = 0
  const nextBatch = () => batches[next++ % batches.length] as Batch
  await makeKnown(url)
  await load(url, 1_000, nextBatch)
  const before = await settled(job)
  const { sent, report } = await load(url, seconds * 1_000, nextBatch)
  const after = await settled(job)
  const grew = (name: string): number => (after.get(name) ?? 0) - (before.get(name) ?? 0)
  const [updates, windows] = [grew('tidemark_count_updates_total'), grew('tidemark_mark_windows_total')]
  return [
    { metric: `${shape}: marks acknowledged and durable`, value: sent / report.seconds, unit: 'per second', target: PER_SECOND_MIN },
    { metric: `${shape}: call of 100 to 500 marks, p50`, value: report.p50Ms, unit: 'ms' },
    { metric: `${shape}: call of 100 to 500 marks, p99`, value: report.p99Ms, unit: 'ms' },
    { metric: `${shape}: marks : count updates`, value: sent / updates, unit: `${sent} : ${updates}`, target: 2 },
    {
      metric: `${shape}: count updates per subject and window`,
      value: updates / (windows * SUBJECTS),
      unit: `${windows} windows`,
      target: 1.02,
      atMost: true,
    },
    { metric: `${shape}: marks in transactions`, value: grew('tidemark_marks_persisted_rows_total'), unit: 'rows' },
    ...(await measureStrangers(shape, addresses, seconds, sent / report.seconds)),
  ]
}

async function measureStrangers(shape: string, { url, job }: Addresses, seconds: number, known: number): Promise<Measure[]> {
  let stranger = FIRST_STRANGER
  const batches = makeBatches(STRANGERS_BODIES_PER_SECOND * (seconds + 1), () => stranger++)
  const nextBatch = () => {
    const batch = batches.pop()
    if (batch === undefined) throw new Error('the benchmark has no more batches of strangers: raise STRANGERS_BODIES_PER_SECOND')
    return batch
  }
  await load(url, 1_000, nextBatch)
  await settled(job)
  const { sent, report } = await load(url, seconds * 1_000, nextBatch)
  await settled(job)
  const perSecond = sent / report.seconds
  return [
    { metric: `${shape}: marks of unknown viewers acknowledged and durable`, value: perSecond, unit: 'per second', target: UNKNOWN_MIN },
    { metric: `${shape}: marks of unknown viewers : of known ones`, value: perSecond / known, unit: 'of known ones' },
  ]
}

async function load(url: string, durationMs: number, nextBatch: () => Batch) {
  let sent = 0
  const report = await runLoad({
    url,
    connections: CONNECTIONS,
    durationMs,
    headers: { 'x-viewer-id': 'bench', 'x-viewer-scopes': 'marks:write-any' },
    body() {
      const batch = nextBatch()
      sent += batch.count
      return batch.body
    },
    check(body) {
      if (!body.includes('"ACCEPTED"') || body.includes('"REJECTED"') || body.includes('"degraded"'))
        throw new Error(`a batch of marks was not accepted: ${body.slice(0, 300)}`)
    },
  })
  return { sent, report }
}

/** Each viewer reads something first, as before a mark. Then their marks are in the hot store. */
async function makeKnown(url: string): Promise<void> {
  let next = 0
  const looker = async (): Promise<void> => {
    while (next < VIEWERS) {
      const viewer = String(1 + next++)
      await callApi(url, LOOK, { business: BUSINESS, ids: [viewer] }, { viewer })
    }
  }
  await Promise.all(Array.from({ length: CONNECTIONS }, looker))
}

type Batch = { body: Buffer; count: number }

/** Made before the clock starts. The server sets the times. A few subjects get most of the marks. */
function makeBatches(bodies: number, nextViewer: (random: () => number) => number): Batch[] {
  const random = seededRandom(4)
  const kinds = ['LIKE', 'LIKE', 'LIKE', 'NONE', 'DISLIKE']
  return Array.from({ length: bodies }, () => {
    const count = 100 + randomBelow(random, 401)
    const marks = Array.from({ length: count }, () => ({
      viewer: String(nextViewer(random)),
      business: BUSINESS,
      id: String(1_000_000 + Math.floor(SUBJECTS * random() ** 3)),
      mark: kinds[randomBelow(random, kinds.length)],
    }))
    return { body: Buffer.from(JSON.stringify({ query: MARK, variables: { marks } })), count }
  })
}

/** The figures after everything is persisted. */
export async function settled(job: string): Promise<Map<string, number>> {
  for (const end = performance.now() + SETTLED_MAX_MS; ; await sleep(200)) {
    const metrics = await readMetrics(job)
    const waiting = ['tidemark_dirty_marks', 'tidemark_marks_log_lag_messages', 'tidemark_marks_outbox'].map((name) => metrics.get(name))
    if (waiting.every((count) => count === 0)) return metrics
    if (performance.now() > end)
      throw new Error(`the write-back did not finish: ${waiting.join(', ')} dirty marks, messages and outgoing changes are left`)
  }
}
