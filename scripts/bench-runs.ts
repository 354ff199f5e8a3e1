/**
 * The recorded runs of the benchmarks: bench/runs.jsonl, one JSON object per line, the oldest first. `npm run bench -- NAME --record
 * CONDITIONS` appends a run. If two runs have a metric, the later line counts.
 *
 * Runs before 2026-11-27 come from tables of an earlier bench/RESULTS.md. Some of their metrics have shorter names than the benchmark
 * prints, and some lines have several runs, or only the figures that were written down.
 */
import { appendFileSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { output } from './repository.ts'

export type Run = {
  /** The benchmark; for other programs a name of their own. */
  name: string
  /** Repeats the run. Words in capitals stand for paths. */
  command: string
  /** A day, or a time in ISO 8601. */
  date: string
  /** The commit that was measured, if it is known. `-dirty` if the code had other changes. */
  commit?: string
  versions: Record<string, string>
  /** Load average of the machine at the start; of several runs in order. */
  load?: number | number[]
  /** Other work on the machine, data and options that matter to the figures. May be empty. */
  conditions: string
  note?: string
  results: RecordedResult[]
}

export type RecordedResult = {
  metric: string
  /** A list has the values of several runs in order, unless `of` says otherwise. A text is an outcome without a figure. */
  value: number | number[] | string
  unit: string
  /** The least allowed value, or the greatest for latencies, memory and losses. `null` is no target. */
  target: number | null
  /** Whether all values meet the target. */
  ok: boolean
  /** The meaning of a list that is not one of runs, such as `least, most`. */
  of?: string
}

export function readRuns(): Run[] {
  return readFileSync(fileOfRuns(), 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Run)
}

/** Adds the commit of the current folder. */
export function appendRun(run: Omit<Run, 'commit'>): void {
  const commit = output('git', ['describe', '--always', '--dirty', '--exclude', '*']).trim()
  const { name, command, date, ...rest } = run
  appendFileSync(fileOfRuns(), `${JSON.stringify({ name, command, date, commit, ...rest })}\n`)
}

/** The results of the newest run of the benchmark that has all these metrics, in their order. */
export function newestResults(runs: readonly Run[], name: string, metrics: readonly string[]): RecordedResult[] {
  for (const run of runs.toReversed()) {
    if (run.name !== name) continue
    const found = metrics.map((wanted) => run.results.find(({ metric }) => metric === wanted))
    if (found.every((each) => each !== undefined)) return found
  }
  throw new Error(`bench/runs.jsonl has no run of ${name} with all of: ${metrics.join('; ')}`)
}

/** The median, if there are several values. */
export function middleOf({ metric, value }: RecordedResult): number {
  const values = [value].flat().toSorted((one, other) => Number(one) - Number(other))
  const middle = Number(values[values.length >> 1])
  const other = Number(values[(values.length - 1) >> 1])
  if (Number.isNaN(middle + other)) throw new Error(`${metric} has no figure: ${String(value)}`)
  return (middle + other) / 2
}

function fileOfRuns(): string {
  return join(import.meta.dirname, '..', 'bench', 'runs.jsonl')
}
