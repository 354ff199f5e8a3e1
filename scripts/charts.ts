/**
 * `npm run charts`: writes the charts of bench/RESULTS.md, bench/charts/*.svg, from bench/runs.jsonl, and their words into the page. With
 * --check it fails if a file is stale.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { readRuns } from './bench-runs.ts'
import { chartsOf } from './charts/charts.ts'
import { report } from './repository.ts'

const PAGE = join('bench', 'RESULTS.md')
const FOLDER = join('bench', 'charts')

const charts = chartsOf(readRuns())
const words = new Map(charts.map((chart) => [chart.name, chart.words]))
const page = readFileSync(PAGE, 'utf8').replaceAll(/!\[[^\]]*\]\(charts\/(?<name>[^)]+)\.svg\)/g, (image, name: string) =>
  words.has(name) ? `![${words.get(name)}](charts/${name}.svg)` : image,
)
const files = [{ path: PAGE, text: page }, ...charts.map(({ name, svg }) => ({ path: join(FOLDER, `${name}.svg`), text: svg }))]

if (process.argv.includes('--check')) {
  const stale = files.filter(({ path, text }) => !existsSync(path) || readFileSync(path, 'utf8') !== text)
  report(stale.map(({ path }) => `${path} no longer fits bench/runs.jsonl: run "npm run charts" and commit the result`))
} else {
  mkdirSync(FOLDER, { recursive: true })
  for (const { path, text } of files) writeFileSync(path, text)
}
