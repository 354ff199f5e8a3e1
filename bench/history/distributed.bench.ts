/**
 * How fast is the distributed shape, and how many rows does the write-back save? A replay sends 1,000,000 reports (120,000 with --quick) in
 * batches of 500 through a gateway and a job. They have their own Redis (append-only file synced before each answer), Kafka and MariaDB,
 * all on this machine, load generator included. Afterwards every timeline and the count of rows are compared with a plain sort of the same
 * reports. The raw limits of the same servers are measured for comparison.
 *
 *     npm run bench -- distributed [--quick] [--json] [--file interactions.tsv.gz]
 *
 * Without --file the reports are a sample of the same form: each row is ten heartbeats.
 */
import { verifyTimelines } from '../../cli/replay/replay-verify.ts'
import { startDeployment, waitUntilConverged, type Deployment } from '../../harness/deployment/deployment.ts'
import { metricsOf } from '../../harness/deployment/role.ts'
import { runLoad, type LoadReport } from '../support/load.ts'
import { measureRawServers } from '../support/raw-servers.ts'
import { makeReplaySource, type ReplaySource } from '../support/replay-load.ts'
import type { BenchOptions, Measure } from '../support/report.ts'

const BATCH = 500
const CONNECTIONS = 8
const ACCEPTED = /"outcome":"(?:ACCEPTED|STALE)"/g
const REJECTED = /"outcome":"REJECTED".{0,200}/
const LOAD_MAX_MS = 600_000
/** A flush may wait for a minute, and a slow database takes longer. */
const QUIET_MAX_MS = 300_000

const REPORT =
  'mutation ($reports: [ReportProgressInput!]!) { reportProgressBatch(input: { reports: $reports }) { results { outcome userErrors { code } } } }'

export async function bench({ quick, file, progress }: BenchOptions): Promise<Measure[]> {
  const source = makeReplaySource(file, quick ? 120_000 : 1_000_000)
  progress('preparing the reports')
  const { bodies, reports, pairs } = await prepare(source)
  progress('starting Redis, Kafka, MariaDB, a gateway and a job')
  const deployment = await startDeployment(quick ? { settings: { history: { flushAgeMaxMs: 8_000, sweepAfterMs: 60_000 } } } : {})
  const [gateway] = deployment.gateways
  const stores = await deployment.openStores()
  try {
    progress(`${reports} reports in batches of ${BATCH}`)
    const degraded: string[] = []
    const load = await sendAll(deployment, bodies, (stores) => degraded.push(stores))
    if (degraded.length > 0) progress(`${degraded.length} batches were accepted without a store: ${[...new Set(degraded)].join(' ')}`)
    progress('waiting until everything is in the record store')
    const quietMs = await waitUntilConverged(deployment, QUIET_MAX_MS)
    const flow = await readFlow(deployment)
    progress('comparing every timeline with a sort of the reports')
    const verified = await verifyTimelines(source(), { url: gateway?.url as string, concurrency: CONNECTIONS }, () => undefined)
    progress(verified.sentence)
    const rows = await stores.records.countProgress()
    progress('the raw limits')
    const raw = await measureRawServers(stores, quick ? 1_500 : 5_000)
    return [
      { metric: 'reports acknowledged', value: reports / load.seconds, unit: 'reports/s', target: 20_000 },
      { metric: 'batches accepted without one of the stores', value: degraded.length, unit: '' },
      { metric: 'batch call p50', value: load.p50Ms, unit: 'ms' },
      { metric: 'batch call p99', value: load.p99Ms, unit: 'ms' },
      { metric: 'Redis script alone', value: raw.hotPutsPerSecond, unit: 'reports/s' },
      { metric: 'MariaDB guarded rows alone', value: raw.rowsPerSecond, unit: 'rows/s' },
      { metric: 'collapse: reports per key sent', value: flow.added / flow.flushed, unit: 'ratio' },
      { metric: 'packing: keys per log message', value: flow.flushed / flow.messages, unit: 'ratio' },
      { metric: 'log messages', value: flow.messages, unit: '' },
      { metric: 'reports : log messages', value: reports / flow.messages, unit: 'ratio', target: 100 },
      { metric: 'rows sent in SQL', value: flow.sqlRows, unit: '' },
      { metric: 'SQL statements', value: flow.statements, unit: '' },
      { metric: 'rows per SQL statement', value: flow.sqlRows / flow.statements, unit: 'ratio', target: 200 },
      { metric: 'last report until all is in the record store', value: quietMs, unit: 'ms' },
      { metric: 'timelines equal to a sort of the reports', value: verified.ok ? 1 : 0, unit: '', target: 1 },
      { metric: 'rows of the record store : distinct pairs', value: rows / pairs, unit: 'ratio', target: 1 },
    ]
  } finally {
    await stores.close()
    await deployment.remove()
  }
}

/** Makes the requests before the clock starts, so that their preparation is not measured. */
async function prepare(source: ReplaySource): Promise<{ bodies: Buffer[]; reports: number; pairs: number }> {
  const bodies: Buffer[] = []
  const pairs = new Set<string>()
  let reports = 0
  let inputs: object[] = []
  const close = () => {
    if (inputs.length > 0) bodies.push(Buffer.from(JSON.stringify({ query: REPORT, variables: { reports: inputs } })))
    inputs = []
  }
  for await (const report of source()) {
    reports++
    pairs.add(`${report.viewer}/${report.business}/${report.id}`)
    if (inputs.push(report) === BATCH) close()
  }
  close()
  return { bodies, reports, pairs: pairs.size }
}

/** A report that is accepted without one of the stores counts as accepted. `onDegraded` gets the names of the missing stores. */
async function sendAll({ gateways }: Deployment, bodies: readonly Buffer[], onDegraded: (stores: string) => void): Promise<LoadReport> {
  let next = 0
  return runLoad({
    url: gateways[0]?.url as string,
    connections: CONNECTIONS,
    durationMs: LOAD_MAX_MS,
    headers: { 'x-viewer-id': 'replay', 'x-viewer-scopes': 'progress:write-any' },
    body: () => bodies[next++],
    check(body) {
      const rejected = REJECTED.exec(body)
      if (rejected !== null) throw new Error(`a report of a batch was rejected: ${rejected[0]}`)
      if ((body.match(ACCEPTED)?.length ?? 0) === 0) throw new Error(`a batch was not accepted: ${body.slice(0, 300)}`)
      if (body.includes('"degraded"')) onDegraded(/"degraded":\[[^\]]*\]/.exec(body)?.[0] ?? '')
    },
  })
}

/** The figures of the write-back, summed over all roles. */
async function readFlow({ roles }: Deployment) {
  const metrics = await Promise.all(roles.map(metricsOf))
  const sum = (name: string) => metrics.reduce((total, each) => total + (each?.get(name) ?? 0), 0)
  return {
    added: sum('tidemark_aggregator_added_keys_total'),
    flushed: sum('tidemark_aggregator_flushed_keys_total'),
    messages: sum('tidemark_flush_messages_total'),
    sqlRows: sum('tidemark_mysql_rows_total'),
    statements: sum('tidemark_mysql_statements_total'),
  }
}
