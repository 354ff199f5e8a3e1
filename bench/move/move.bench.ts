/**
 * Is a move complete, and how fast is it? 1,000,000 reports and 100,000 marks (10,000 and 1,000 with --quick) go from embedded stores to
 * Redis, Kafka and MariaDB, and back to embedded stores. The first export and the first import are killed in the middle and run again. At the
 * end the exports of the first and the last stores are compared by their checksums, counts are recounted, and the service is audited.
 *
 *     npm run bench -- move [--quick] [--json]
 */
import { spawn } from 'node:child_process'
import { existsSync, readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { openStores, type OpenStores } from '../../cli/stores/history.ts'
import { readSettings } from '../../cli/process/settings.ts'
import { systemClock } from '../../core/clock.ts'
import { runCommand } from '../../harness/deployment/command.ts'
import { startDeployment } from '../../harness/deployment/deployment.ts'
import { makeServiceFolder, startService } from '../../harness/deployment/service.ts'
import { persistKeys } from '../../subgraphs/history/persist/persist.ts'
import type { BenchOptions, Measure } from '../support/report.ts'

const COMMAND = join(import.meta.dirname, '..', '..', 'cli', 'tidemark.ts')
const REPORTS_PER_VIEWER = 100
const AT_ONCE = 2_000
const VIEWED_AT = 1_780_000_000_000
const RUN_MAX_MS = 900_000
const silent = { debug() {}, info() {}, warn() {}, error() {} }

type Place = { cwd: string; flags: readonly string[] }

export async function bench({ quick, progress }: BenchOptions): Promise<Measure[]> {
  const [source, target] = [makeServiceFolder(), makeServiceFolder()]
  for (const { folder } of [source, target]) writeFileSync(join(folder, 'tidemark.yaml'), '{}')
  const deployment = await startDeployment({ gateways: 1 })
  try {
    const [first, last] = [embedded(source.folder), embedded(target.folder)]
    const config = join(deployment.servers.folder, 'gateway-1', 'tidemark.yaml')
    const middle: Place = { cwd: deployment.servers.folder, flags: ['--config', config] }
    await Promise.all(deployment.roles.map((role) => role.stop()))
    const reports = quick ? 10_000 : 1_000_000
    await fill(first, reports, reports / 10, progress)
    const folderOf = (name: string): string => join(source.folder, name)

    const killed = await killInTheMiddle(first, ['export', '--out', folderOf('first')], () => filesIn(folderOf('first')) >= (quick ? 1 : 3))
    const out = await timed(first, ['export', '--out', folderOf('first')], progress)
    const resume = folderOf('resume.json')
    const importing = ['import', folderOf('first'), '--resume', resume]
    const killedImport = await killInTheMiddle(middle, importing, () => importedIn(resume) >= (quick ? 1 : 3))
    const into = await timed(middle, importing, progress)
    const verified = await timed(middle, ['import', folderOf('first'), '--resume', resume, '--verify'], progress)
    const parquet = await timed(middle, ['export', '--out', folderOf('second'), '--form', 'parquet'], progress)
    const back = await timed(last, ['import', folderOf('second'), '--verify'], progress)
    const again = await timed(last, ['export', '--out', folderOf('third')], progress)

    const rows = rowsIn(folderOf('third'))
    const differing = differences(folderOf('first'), folderOf('third'))
    const reconciled = await runCommand(last.cwd, ['reconcile', ...last.flags], { maxMs: RUN_MAX_MS })
    progress(reconciled.out.trim())
    const service = await startService({ folder: target.folder })
    const audit = await runCommand(last.cwd, ['audit', service.url, '--wait', '0'], { maxMs: RUN_MAX_MS })
    await service.stop()
    if (audit.status !== 0) progress(audit.out)
    const rate = (seconds: number): number => rows / seconds
    return [
      { metric: 'rows of reports and marks', value: rows, unit: '', target: reports + reports / 10 },
      {
        metric: 'export and import were killed in the middle',
        value: Number(killed) + Number(killedImport),
        unit: '',
        target: quick ? 0 : 2,
      },
      { metric: 'export of embedded stores, JSON lines (after the kill)', value: out, unit: 's' },
      { metric: 'import into Redis and MariaDB (after the kill)', value: into, unit: 's' },
      { metric: 'check of the files and comparison with MariaDB', value: rate(verified), unit: 'rows/s' },
      { metric: 'export of Redis and MariaDB, Parquet', value: rate(parquet), unit: 'rows/s' },
      { metric: 'import into embedded stores, with the comparison', value: rate(back), unit: 'rows/s' },
      { metric: 'export of embedded stores, JSON lines', value: rate(again), unit: 'rows/s' },
      { metric: 'files of the last export that differ from the first', value: differing, unit: '', target: 0, atMost: true },
      { metric: 'counts that differ from their rows, status of reconcile', value: reconciled.status, unit: '', target: 0, atMost: true },
      { metric: 'broken guarantees, status of audit', value: audit.status, unit: '', target: 0, atMost: true },
    ]
  } finally {
    await deployment.remove()
    source.remove()
    target.remove()
  }
}

function embedded(folder: string): Place {
  return { cwd: folder, flags: ['--config', join(folder, 'tidemark.yaml'), '--data', join(folder, 'data')] }
}

/** Writes as the service and its jobs do: through the hot store, then into the record store. */
async function fill({ flags }: Place, reports: number, marks: number, progress: (text: string) => void): Promise<void> {
  const stores = await openStores(readSettings({ config: flags[1], data: flags[3] }), systemClock, silent)
  try {
    for (let at = 0; at < reports; at += AT_ONCE) await putReports(stores, at, Math.min(reports, at + AT_ONCE))
    progress(`${reports} reports are stored`)
    for (let at = 0; at < marks; at += AT_ONCE) {
      const rows = Array.from({ length: Math.min(AT_ONCE, marks - at) }, (_, place) => {
        const number = at + place
        const key = { viewer: String(Math.floor(number / 10)), business: 1, oid: String((number * 7) % 5_000) }
        const mark = number % 10 === 0 ? ('DISLIKE' as const) : ('LIKE' as const)
        return { key, record: { mark, markedAt: VIEWED_AT + number, version: (VIEWED_AT + number) * 1_024 } }
      })
      await stores.marks.records.applyMarks(rows, [])
    }
    progress(`${marks} marks are stored`)
  } finally {
    await stores.close()
  }
}

async function putReports({ hot, records }: OpenStores, from: number, to: number): Promise<void> {
  const keys = Array.from({ length: to - from }, (_, place) => {
    const number = from + place
    return { viewer: String(Math.floor(number / REPORTS_PER_VIEWER)), business: 1 + (number % 3), oid: String(number % REPORTS_PER_VIEWER) }
  })
  const writes = keys.map((key, place) => {
    const viewedAt = VIEWED_AT + from + place
    const resume = { position: (from + place) % 3_600_000, duration: 3_600_000, device: 'phone', finished: place % 10 === 0 }
    return { ...key, record: { viewedAt, since: 0, rank: 2 ** 42 + viewedAt, version: 0, ...resume, deleted: false }, decisive: true }
  })
  await hot.putProgress(writes, { now: Date.now(), timelineCap: 1_000 })
  await persistKeys({ hot, records }, keys, { timelineCap: 1_000, purgeRowsMax: 1_000 })
}

/** False if it ended before it was due. */
async function killInTheMiddle({ cwd, flags }: Place, args: readonly string[], isDue: () => boolean): Promise<boolean> {
  const child = spawn(process.execPath, [COMMAND, ...args, ...flags], { cwd, stdio: 'ignore' })
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  while (child.exitCode === null && !isDue()) await sleep(5)
  const isKilled = child.exitCode === null && child.kill('SIGKILL')
  await ended
  return isKilled
}

async function timed({ cwd, flags }: Place, args: readonly string[], progress: (text: string) => void): Promise<number> {
  const begun = performance.now()
  const { status, out, error } = await runCommand(cwd, [...args, ...flags], { maxMs: RUN_MAX_MS })
  progress(out.trim())
  if (status !== 0) throw new Error(`${args.join(' ')} ended with status ${status}: ${out}${error}`)
  return (performance.now() - begun) / 1_000
}

type File = { name: string; rows: number; sha256: string }

function manifestFiles(folder: string): File[] {
  return (JSON.parse(readFileSync(join(folder, 'export.json'), 'utf8')) as { files: File[] }).files
}

function rowsIn(folder: string): number {
  return manifestFiles(folder)
    .filter(({ name }) => /^(?:progress|mark)-/.test(name))
    .reduce((sum, { rows }) => sum + rows, 0)
}

/** Files that only one of the exports has, by their contents. */
function differences(one: string, other: string): number {
  const [ours, theirs] = [one, other].map((folder) => manifestFiles(folder).map(({ sha256 }) => sha256)) as [string[], string[]]
  return [...ours.filter((sum) => !theirs.includes(sum)), ...theirs.filter((sum) => !ours.includes(sum))].length
}

function filesIn(folder: string): number {
  return existsSync(folder) ? readdirSync(folder).filter((name) => name.endsWith('.jsonl')).length : 0
}

function importedIn(resume: string): number {
  if (!existsSync(resume)) return 0
  return (JSON.parse(readFileSync(resume, 'utf8')) as { imported: string[] }).imported.length
}
