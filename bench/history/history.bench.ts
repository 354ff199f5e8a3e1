/**
 * How fast is watch history on the embedded store, load generator included, on this machine?
 *
 *     npm run bench -- history [--quick] [--json]
 *
 * One service runs as with `npm start`. This process loads it over HTTP: batches of 500 reports, single reports, pages of 50
 * entries. Then memory is measured under five minutes of steady load (5 s with --quick, without a target). For comparison the
 * same run measures the raw limit of the store (fsynced puts of the same records without GraphQL), and the feed query on bare
 * graphql-jit.
 */
import { readFileSync } from 'node:fs'
import { makeServiceFolder, startService, type Service } from '../../harness/deployment/service.ts'
import { runFeedBench } from '../gateway/feed.ts'
import { cpuSeconds } from '../support/cpu.ts'
import { runLoad, type LoadOptions } from '../support/load.ts'
import type { BenchOptions, Measure } from '../support/report.ts'
import { measureRawStore } from '../support/raw-store.ts'

const VIEWERS = 5_000
const SUBJECTS = 2_000
const BATCH = 500
/** V8 compiles during the first three seconds of load. A report costs twice as much until then. */
const WARM_UP_MS = 4_000
const ACCEPTED = '"outcome":"ACCEPTED"'

const BATCH_QUERY =
  'mutation ($reports: [ReportProgressInput!]!) { reportProgressBatch(input: { reports: $reports }) { results { outcome userErrors { code } } } }'
const SINGLE_QUERY = 'mutation ($input: ReportProgressInput!) { reportProgress(input: $input) { outcome userErrors { code } dayToken } }'
const PAGE_QUERY =
  '{ viewerHistory(first: 50) { edges { cursor viewedAt node { __typename id business viewerProgress { position duration viewedAt device finished } } } pageInfo { hasNextPage endCursor } } }'

export async function bench({ quick, progress }: BenchOptions): Promise<Measure[]> {
  const seconds = quick ? 2 : 15
  const { folder, remove } = makeServiceFolder()
  const service = await startService({ folder })
  try {
    progress('single reports')
    await runLoad(singleReports(service, WARM_UP_MS))
    const cpuBefore = cpuSeconds(service.pid)
    const single = await runLoad(singleReports(service, seconds * 1_000))
    const singleCpu = cpuSeconds(service.pid) - cpuBefore
    progress('batches of 500 reports')
    await runLoad(batches(service, WARM_UP_MS))
    const batch = await runLoad(batches(service, seconds * 1_000))
    progress('pages of 50 entries')
    await fillPages(service)
    await runLoad(pages(service, 1_000))
    const page = await runLoad(pages(service, seconds * 1_000))
    progress(`memory under ${quick ? '5 s' : '5 minutes'} of load`)
    const memory = await measureMemory(service, quick ? 5_000 : 300_000)
    progress('the raw store')
    const raw = await measureRawStore(quick ? 2_000 : 5_000)
    const reportsPerSecond = batch.perSecond * BATCH
    return [
      { metric: 'batch reports acknowledged and durable', value: reportsPerSecond, unit: 'reports/s', target: 40_000 },
      { metric: 'batch call p99', value: batch.p99Ms, unit: 'ms' },
      { metric: 'batch reports : raw store puts', value: reportsPerSecond / raw.putsPerSecond, unit: 'ratio' },
      { metric: 'single reports acknowledged and durable', value: single.perSecond, unit: 'reports/s', target: 4_000 },
      { metric: 'single report p99', value: single.p99Ms, unit: 'ms' },
      { metric: 'CPU of the service per single report', value: (singleCpu * 1e6) / single.requests, unit: 'µs' },
      { metric: 'pages of 50 entries', value: page.perSecond, unit: 'pages/s', target: 1_500 },
      { metric: 'page p99', value: page.p99Ms, unit: 'ms' },
      {
        metric: 'anonymous memory, end : after warm-up',
        value: memory.ratio,
        unit: 'ratio',
        ...(quick ? {} : { target: 1.15, atMost: true }),
      },
      { metric: 'anonymous memory at the end', value: memory.endMb, unit: 'MB' },
      ...(await runFeedBench({ quick, progress })),
    ]
  } finally {
    await service.stop()
    remove()
  }
}

let clock = 1_600_000_000_000

function reportOf(index: number) {
  clock += 1
  return {
    viewer: String(index % VIEWERS),
    business: 'video',
    id: String((index * 7_919) % SUBJECTS),
    position: 10_000 + (clock % 1_000_000),
    duration: 3_600_000,
    viewedAt: clock,
    device: 'tv',
  }
}

const SCOPES = { 'x-viewer-id': '1', 'x-viewer-scopes': 'progress:write-any' }

function batches(service: Service, durationMs: number): LoadOptions {
  let index = 0
  return {
    url: service.url,
    connections: 8,
    durationMs,
    headers: SCOPES,
    body: () => JSON.stringify({ query: BATCH_QUERY, variables: { reports: Array.from({ length: BATCH }, () => reportOf(index++)) } }),
    check(body) {
      if (body.split(ACCEPTED).length !== BATCH + 1) throw new Error(`not all reports of a batch were accepted: ${body.slice(0, 300)}`)
    },
  }
}

function singleReports(service: Service, durationMs: number): LoadOptions {
  let index = 0
  return {
    url: service.url,
    connections: 64,
    durationMs,
    headers: SCOPES,
    body: () => JSON.stringify({ query: SINGLE_QUERY, variables: { input: reportOf(index++) } }),
    check(body) {
      if (!body.includes(ACCEPTED)) throw new Error(`a report was not accepted: ${body.slice(0, 300)}`)
    },
  }
}

/** Gives viewer 1 more entries than a page has. */
async function fillPages(service: Service): Promise<void> {
  const inputs = Array.from({ length: 100 }, (_, index) => Object.assign(reportOf(index), { viewer: '1', id: String(10_000 + index) }))
  const filled = await fetch(service.url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...SCOPES },
    body: JSON.stringify({ query: BATCH_QUERY, variables: { reports: inputs } }),
  })
  if ((await filled.text()).split(ACCEPTED).length !== inputs.length + 1) throw new Error('the pages could not be filled')
}

function pages(service: Service, durationMs: number): LoadOptions {
  const body = JSON.stringify({ query: PAGE_QUERY })
  return {
    url: service.url,
    connections: 32,
    durationMs,
    headers: { 'x-viewer-id': '1' },
    body: () => body,
    check(answer) {
      if (answer.split('"cursor"').length !== 51) throw new Error(`a page does not have 50 entries: ${answer.slice(0, 300)}`)
    },
  }
}

/** The kernel can drop pages of the mapped data file. Only the private memory of the process must not grow. */
async function measureMemory(service: Service, durationMs: number): Promise<{ ratio: number; endMb: number }> {
  const steps = 10
  const samples: number[] = []
  for (let step = 0; step < steps; step++) {
    await Promise.all([
      runLoad({ ...batches(service, durationMs / steps), connections: 2 }),
      runLoad({ ...pages(service, durationMs / steps), connections: 4 }),
    ])
    samples.push(anonymousMb(service.pid))
  }
  const early = Math.max(...samples.slice(1, 4))
  const late = Math.min(...samples.slice(-3))
  return { ratio: late / early, endMb: samples[steps - 1] as number }
}

function anonymousMb(pid: number): number {
  const match = /^RssAnon:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))
  if (match === null) throw new Error('this system does not report the anonymous memory of a process')
  return Number(match[1]) / 1_024
}
