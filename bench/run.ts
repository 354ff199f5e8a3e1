/**
 * `npm run bench -- NAME [--quick] [--json] [--file PATH]`: runs bench/NAME.ts and shows its figures. Exit status 1 if a
 * target is missed. `--quick` ends within 45 s; `--json` prints one object {name, date, versions, results}; `--file` names
 * recorded interactions, for the benchmarks that replay some; `--hive-router PATH` the binary to compare with.
 */
import { readdirSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { resultOf, tableOf, versions, type BenchOptions, type Measure } from './report.ts'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { quick: { type: 'boolean' }, json: { type: 'boolean' }, file: { type: 'string' }, 'hive-router': { type: 'string' } },
})
const [name = ''] = positionals
const BENCHES = readdirSync(import.meta.dirname)
  .filter((file) => file.endsWith('.bench.ts'))
  .map((file) => file.replace('.bench.ts', ''))

if (!BENCHES.includes(name)) {
  console.error(`there is no benchmark "${name}": say one of ${BENCHES.join(', ')}`)
  process.exitCode = 2
} else {
  const { bench } = (await import(`./${name}.bench.ts`)) as { bench: (options: BenchOptions) => Promise<Measure[]> }
  const progress = (text: string) => void process.stderr.write(`${text}\n`)
  const results = (await bench({ quick: values.quick ?? false, file: values.file, hiveRouter: values['hive-router'], progress })).map(
    resultOf,
  )
  if (values.json) console.log(JSON.stringify({ name, date: new Date().toISOString(), versions: versions(), results }))
  else console.log(tableOf(results))
  if (results.some((each) => !each.ok)) process.exitCode = 1
}
