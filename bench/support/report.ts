/** The figures of a benchmark and their two forms: a table for people, one JSON object for programs. */
import { readFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { join } from 'node:path'

export type Measure = {
  metric: string
  value: number
  unit: string
  /** The least allowed value; absent if the figure has no target. */
  target?: number
  /** `target` is the greatest allowed value, not the least. */
  atMost?: boolean
}

export type BenchOptions = {
  quick: boolean
  /** Recorded interactions to replay, if given. */
  file?: string | undefined
  /** For `abuse`: runs only attacks with this in their titles. For `alerts`: keys of faults, with commas. For others: a shape. */
  only?: string | undefined
  /** For `abuse`: minutes of attacks in all. For `alerts`: minutes without a fault. */
  minutes?: number | undefined
  /** For `plays-at-once`: folders of other checkouts to compare with. For `upgrade`: that of the release before. */
  against?: string[] | undefined
  /** The binary of Hive Router, for the benchmark that compares with it. */
  hiveRouter?: string | undefined
  /** RedisBloom's module, for the benchmark that compares with it. */
  bloomModule?: string | undefined
  progress: (text: string) => void
}

export type Result = { metric: string; value: number; unit: string; target: number | null; ok: boolean }

export function resultOf({ metric, value, unit, target, atMost = false }: Measure): Result {
  const ok = target === undefined || (atMost ? value <= target : value >= target)
  return { metric, value: round(value), unit, target: target ?? null, ok }
}

function round(value: number): number {
  return Math.abs(value) >= 100 ? Math.round(value) : Math.round(value * 1_000) / 1_000
}

export function versions(): Record<string, string> {
  const text = readFileSync(join(import.meta.dirname, '..', '..', 'package.json'), 'utf8')
  const { version, dependencies } = JSON.parse(text) as { version: string; dependencies: Record<string, string> }
  const shown = ['graphql', 'graphql-jit', 'lmdb', 'fastify', '@graphql-hive/router-query-planner']
  const libraries = shown.map((name) => [name, dependencies[name] ?? '-'])
  return {
    tidemark: version,
    node: process.version,
    cpu: `${cpus().length} x ${cpus()[0]?.model ?? 'unknown'}`,
    ...Object.fromEntries(libraries),
  }
}

export function tableOf(results: readonly Result[]): string {
  const rows = [
    ['metric', 'value', 'unit', 'target', ''],
    ...results.map((each) => [
      each.metric,
      String(each.value),
      each.unit,
      each.target === null ? '' : String(each.target),
      each.target === null ? '' : each.ok ? 'ok' : 'MISSED',
    ]),
  ]
  const widths = rows[0]?.map((_, column) => Math.max(...rows.map((row) => (row[column] as string).length))) ?? []
  return rows
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] as number))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}
