/** `npm run charts`: writes the charts of bench/RESULTS.md, bench/charts/*.svg, from bench/runs.jsonl. With --check it fails if one is stale. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { readRuns } from './bench-runs.ts'
import { chartsOf } from './charts/charts.ts'
import { report } from './repository.ts'

const FOLDER = join('bench', 'charts')
const charts = chartsOf(readRuns()).map(({ name, text }) => ({ path: join(FOLDER, `${name}.svg`), text }))

if (process.argv.includes('--check')) {
  const stale = charts.filter(({ path, text }) => !existsSync(path) || readFileSync(path, 'utf8') !== text)
  report(stale.map(({ path }) => `${path} no longer fits bench/runs.jsonl: run "npm run charts" and commit the result`))
} else {
  mkdirSync(FOLDER, { recursive: true })
  for (const { path, text } of charts) writeFileSync(path, text)
}
