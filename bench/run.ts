/**
 * `npm run bench -- NAME [--quick] [--json] [--record CONDITIONS] [--file PATH]` runs NAME.bench.ts and prints its figures. The exit status
 * is 1 if a target is missed. `npm run bench -- --help` lists the benchmarks with their questions.
 *
 * - `--quick` ends within about 45 s, except `growth`, which takes 80 s on embedded stores and three minutes on servers.
 * - `--json` prints one object {name, date, versions, results}.
 * - `--record CONDITIONS` appends the run to bench/runs.jsonl (scripts/bench-runs.ts), with a note such as "nothing else on the machine".
 * - `--file PATH` gives recorded interactions to the benchmarks that replay some.
 * - `--only PART` selects attacks of `abuse`, faults of `alerts`, or a shape of `plays-at-once`, `upgrade` or `live`. `--minutes N` shortens
 *   `abuse` and `alerts`.
 * - `--against CHECKOUT` is another checkout: to compare with, for `plays-at-once`, where it may be repeated, or the release before, for
 *   `upgrade`.
 * - `--hive-router PATH` and `--bloom-module PATH` are binaries to compare with.
 *
 * The heap of this process has the limits of all our processes (cli/process/heap.ts; the script in package.json limits the young generation).
 */
import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { loadavg } from 'node:os'
import { basename, join } from 'node:path'
import { parseArgs } from 'node:util'
import { makeAllYoung } from '../cli/process/heap.ts'
import { makeComplain, parsedOr, type Complain } from '../scripts/arguments.ts'
import { appendRun } from '../scripts/bench-runs.ts'
import { resultOf, tableOf, versions, type BenchOptions, type Measure } from './support/report.ts'

/** The path of each benchmark by its name. */
const PATHS = new Map(
  readdirSync(import.meta.dirname, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.bench.ts') && !path.includes('node_modules'))
    .map((path) => [basename(path, '.bench.ts'), path]),
)
const BENCHES = [...PATHS.keys()].sort()

const USAGE = `usage: npm run bench -- NAME [--quick] [--json] [--record CONDITIONS] [--file PATH], where NAME is one of ${BENCHES.join(', ')}`

const MORE = 'Some benchmarks also take --only PART, --minutes N, --against CHECKOUT, --hive-router PATH or --bloom-module PATH.'

/** One line per benchmark: its name, and the first sentence of its file. */
function listed(): string {
  const width = Math.max(...BENCHES.map(({ length }) => length))
  return BENCHES.map((each) => `  ${each.padEnd(width)}  ${questionOf(each)}`).join('\n')
}

function questionOf(bench: string): string {
  const source = readFileSync(join(import.meta.dirname, PATHS.get(bench) as string), 'utf8')
  const comment = source
    .slice('/**'.length, source.indexOf('*/'))
    .replaceAll(/\s*\n \*/g, '')
    .trim()
  return /^.*?[.?](?= |$)/.exec(comment)?.[0] ?? comment
}

const complain: Complain = makeComplain(USAGE)
const { values, positionals } = parsedOr(complain, () =>
  parseArgs({
    allowPositionals: true,
    options: {
      quick: { type: 'boolean' },
      json: { type: 'boolean' },
      record: { type: 'string' },
      file: { type: 'string' },
      only: { type: 'string' },
      minutes: { type: 'string' },
      against: { type: 'string', multiple: true },
      'hive-router': { type: 'string' },
      'bloom-module': { type: 'string' },
      help: { type: 'boolean' },
    },
  }),
)
const [name = '', ...more] = positionals

if (values.help) {
  console.log(`${USAGE}\n${MORE}\n\n${listed()}`)
} else if (!PATHS.has(name)) {
  complain(
    name === ''
      ? 'no benchmark is named: use a name from the list, or --help for the question of each'
      : `there is no benchmark "${name}": use a name from the list`,
  )
} else if (more.length > 0) {
  complain(`"${more.join(' ')}" is not expected: name one benchmark at a time`)
} else if (values.minutes !== undefined && !(Number(values.minutes) > 0)) {
  complain(`--minutes ${values.minutes} is not valid: give a number above 0`)
} else if (values.file !== undefined && !existsSync(values.file)) {
  complain(`--file ${values.file} does not exist: give the path of a file of recorded interactions`)
} else {
  makeAllYoung()
  const { bench } = (await import(`./${PATHS.get(name)}`)) as { bench: (options: BenchOptions) => Promise<Measure[]> }
  const progress = (text: string) => void process.stderr.write(`${text}\n`)
  const { quick = false, file, only, against, 'hive-router': hiveRouter, 'bloom-module': bloomModule } = values
  const minutes = values.minutes === undefined ? undefined : Number(values.minutes)
  const load = Math.round((loadavg()[0] as number) * 10) / 10
  const results = (await bench({ quick, file, only, minutes, against, hiveRouter, bloomModule, progress })).map(resultOf)
  const run = { name, date: new Date().toISOString(), versions: versions(), results }
  if (values.json) console.log(JSON.stringify(run))
  else console.log(tableOf(results))
  if (values.record !== undefined) {
    const { date, ...rest } = run
    appendRun({ command: command(), date, load, conditions: values.record, ...rest })
  }
  if (results.some((each) => !each.ok)) process.exitCode = 1
}

/** This command, with `PATH` for paths of this machine. */
function command(): string {
  const { record: _, json: __, ...given } = values
  const flags = Object.entries(given).flatMap(([flag, value]) =>
    [value].flat().map((each) => (each === true ? `--${flag}` : `--${flag} ${String(each).includes('/') ? 'PATH' : each}`)),
  )
  return ['npm run bench --', name, ...flags].join(' ')
}
