/**
 * `tidemark replay FILE` sends recorded interactions through the API as progress reports, in batches. It prints the throughput, the
 * latencies and the figures of the write-back. With --verify, every viewer's timeline is then compared with a plain sort and last write
 * wins over the file.
 */
import { setTimeout as wait } from 'node:timers/promises'
import { TidemarkError } from '../../core/errors.ts'
import { SCOPE_WRITE_ANY } from '../../core/viewer.ts'
import { apiUrl, callApi, readMetrics } from '../../conformance/api-client.ts'
import { describeSending, credentialsOf, sendInBatches, type Outcome, type SendReport } from './batch-sender.ts'
import { readInteractions, type Interaction } from './interactions.ts'
import { runWithProgressBar } from './progress-bar.ts'
import { secretText } from '../process/secret-text.ts'
import { verifyTimelines } from './replay-verify.ts'
import type { ReplayOptions, WireReport } from './options.ts'

export type ReplayReport = SendReport & { rows: number }

const DIRTY = 'tidemark_dirty_keys'
const HEARTBEAT_MS = 15_000
const REPORT = `mutation Replay($reports: [ReportProgressInput!]!) { reportProgressBatch(input: { reports: $reports }) {
  results { outcome userErrors { code message path } } } }`

export async function replay(file: string, given: ReplayOptions, print: (line: string) => void): Promise<boolean> {
  const options = withAddresses(given)
  if (options.verifyOnly) return verify(file, options, print)
  if (options.wait) await metricsOfJob(options.job ?? options.url, DIRTY)
  const before = await figuresOf(options)
  const report = await runWithProgressBar(`Replaying ${file}`, (progress) => {
    let fraction = 0
    const reports = readReports(file, options, (read) => {
      fraction = read
    })
    return sendAll(reports, options, (text) => progress(`${text}, ${Math.floor(100 * fraction)}% of the file`))
  })
  print([`rows            ${report.rows}`, ...describeSending('reports', report)].join('\n'))
  if (options.wait)
    await runWithProgressBar('Waiting until everything is in the record store', () => waitUntilQuiet(options.job ?? options.url))
  print(describeWriteBack(before, await figuresOf(options)))
  const failed = (report.outcomes['REJECTED'] ?? 0) > 0
  if (!options.verify) return !failed
  return (await verify(file, options, print)) && !failed
}

/** Completes addresses, and reads a token from its file. */
export function withAddresses(given: ReplayOptions): ReplayOptions {
  const token = given.token === undefined ? undefined : secretText(given.token, '--token')
  return { ...given, token, url: apiUrl(given.url, '--url'), job: given.job === undefined ? undefined : apiUrl(given.job, '--job') }
}

async function verify(file: string, options: ReplayOptions, print: (line: string) => void): Promise<boolean> {
  const verified = await runWithProgressBar('Comparing every timeline with the file', (progress) =>
    verifyTimelines(readReports(file, options), options, progress),
  )
  print(verified.sentence)
  return verified.ok
}

/** The heartbeats of each row, in the order of the file. */
export async function* readReports(
  file: string,
  options: Pick<ReplayOptions, 'heartbeats' | 'business'>,
  onRead?: (fraction: number) => void,
): AsyncGenerator<WireReport> {
  for await (const row of readInteractions(file, onRead)) {
    for (let beat = 0; beat < options.heartbeats; beat++) yield reportOf(row, beat, options)
  }
}

function reportOf(row: Interaction, beat: number, options: Pick<ReplayOptions, 'heartbeats' | 'business'>): WireReport {
  const advance = beat * HEARTBEAT_MS
  return {
    viewer: row.viewer,
    business: row.business ?? options.business,
    id: row.oid,
    position: (row.position ?? HEARTBEAT_MS) + advance,
    duration: row.duration ?? options.heartbeats * HEARTBEAT_MS * 2,
    viewedAt: row.viewedAt + advance,
    ...(row.device === undefined ? {} : { device: row.device }),
  }
}

async function sendAll(
  reports: AsyncGenerator<WireReport>,
  options: ReplayOptions,
  progress: (text: string) => void,
): Promise<ReplayReport> {
  const credentials = credentialsOf(options, SCOPE_WRITE_ANY)
  const sent = await sendInBatches(reports, options, progress, async (reports) => {
    const data = await callApi<{ reportProgressBatch: { results: Outcome[] } }>(options.url, REPORT, { reports }, credentials)
    return data.reportProgressBatch.results
  })
  return { ...sent, rows: Math.round(sent.sent / options.heartbeats) }
}

/** The metrics of gateway and job together. */
export async function figuresOf({ url, job }: Pick<ReplayOptions, 'url' | 'job'>): Promise<Map<string, number>> {
  const addresses = job === undefined ? [url] : [url, job]
  return new Map((await Promise.all(addresses.map(readMetrics))).flatMap((metrics) => [...metrics]))
}

/** Resolves when neither dirty marks nor unread flush messages are left. */
async function waitUntilQuiet(url: string): Promise<void> {
  for (;;) {
    const metrics = await metricsOfJob(url, DIRTY)
    if (metrics.get(DIRTY) === 0 && metrics.get('tidemark_log_lag_messages') === 0) return
    await wait(500)
  }
}

/** Rejects before anything is sent if the process at `url` does not run the job: its metrics would never show the end of the write-back. */
export async function metricsOfJob(url: string, figure: string): Promise<Map<string, number>> {
  const metrics = await readMetrics(url)
  if (metrics.has(figure)) return metrics
  const sentence = `${new URL('/metrics', url).href} has no ${figure}: give the address of a job with --job, or do not wait (--no-wait)`
  throw new TidemarkError('CONFIG_INVALID', sentence)
}

function describeWriteBack(before: Map<string, number>, after: Map<string, number>): string {
  const grew = (name: string) => (after.get(name) ?? 0) - (before.get(name) ?? 0)
  const reports = grew('tidemark_aggregator_added_keys_total')
  const keys = grew('tidemark_aggregator_flushed_keys_total')
  const messages = grew('tidemark_flush_messages_total')
  const rows = grew('tidemark_persisted_rows_total')
  const ratio = (a: number, b: number) => (b === 0 ? '-' : (a / b).toFixed(1))
  return [
    `write-back      ${reports} reports : ${messages} flush messages : ${rows} persisted rows`,
    `convergence     ${ratio(reports, keys)} collapse (reports per key sent) x ${ratio(keys, messages)} packing (keys per message) = ${ratio(reports, messages)}`,
  ].join('\n')
}
