/** `tidemark check` judges whether a graph can be served. It prints text, or JSON with --json. */
import type { GraphQLSchema } from 'graphql'
import type { Config } from '../config/config.ts'
import { makeJudge } from '../gateway/limits/judge.ts'
import { checkSupergraph, gapWarnings, type CheckReport } from '../gateway/supergraph/check.ts'
import { readKnownOperations } from '../gateway/supergraph/known-operations.ts'
import { lintSubgraphs, type Warning } from '../gateway/supergraph/lint.ts'
import { fetchApiSchema } from '../gateway/supergraph/introspect.ts'
import { loadApi, loadGraph, readGraphSettings } from './graph-files.ts'
import type { Flags } from './process/settings.ts'

export type CheckFlags = Flags & { against?: string; operations?: string; lint?: boolean; json?: boolean }

/** Resolves to false if something breaks. Rejects with CONFIG_INVALID if there is no graph to judge. */
export async function check(flags: CheckFlags, print: (text: string) => void): Promise<boolean> {
  const config = readGraphSettings(flags)
  const { loaded, subgraphs } = await loadGraph(config)
  if (flags.lint === true) {
    const warnings = [...lintSubgraphs(subgraphs), ...gapWarnings(loaded)]
    print(flags.json === true ? JSON.stringify({ ok: true, warnings }) : describeWarnings(warnings).join('\n'))
    return true
  }
  const report = checkSupergraph({
    loaded,
    subgraphs,
    before: flags.against === undefined ? undefined : await loadOlderApi(flags.against, config),
    operations: flags.operations === undefined ? undefined : readKnownOperations(flags.operations),
    tokensMax: config.server.operationTokensMax,
    judge: makeJudge(config.server),
    costMax: config.server.operationCostMax,
    listSizeAssumed: config.server.listSizeAssumed,
  })
  print(flags.json === true ? JSON.stringify(report) : describe(report, flags.operations !== undefined).join('\n'))
  return report.ok
}

/** The schema of a running service (`named` is its address), or of a file. */
async function loadOlderApi(named: string, config: Config): Promise<GraphQLSchema> {
  const isAddress = /^https?:\/\//.test(named)
  return isAddress ? fetchApiSchema(named, { timeoutMs: config.supergraph.fetchTimeoutMs }) : loadApi(named, '--against', () => config)
}

function describe(report: CheckReport, knowsOperations: boolean): string[] {
  return [
    `The graph composes: ${report.subgraphs.map(({ name, url }) => `${name} (${url ?? 'in the process'})`).join(', ')}; ${report.hash}`,
    ...(report.changes === null ? [] : ['', ...describeChanges(report.changes, knowsOperations)]),
    ...(knowsOperations ? ['', ...describeOperations(report.operations)] : []),
    '',
    ...describeWarnings(report.warnings),
    '',
    report.ok ? 'Nothing breaks.' : 'Something breaks: see the lines that begin with BREAKS.',
  ]
}

function describeChanges(changes: NonNullable<CheckReport['changes']>, knowsOperations: boolean): string[] {
  const added = changes.filter(({ severity }) => severity === 'added')
  const harmful = changes.filter(({ severity }) => severity !== 'added')
  return [
    harmful.length === 0 ? 'Nothing that breaks clients has changed.' : 'Changes:',
    ...harmful.map(({ severity, sentence, advice, usedBy }) => {
      const isUsed = !knowsOperations || usedBy.length > 0
      const word = severity === 'dangerous' ? 'danger' : isUsed ? 'BREAKS' : 'unused'
      const users = usedBy.length > 0 ? ` Used by ${usedBy.join(', ')}.` : knowsOperations ? ' No known operation uses it.' : ''
      return `  ${word}  ${sentence}${isUsed && advice !== '' ? ` ${advice}` : ''}${users}`
    }),
    ...(added.length === 0 ? [] : ['Additions, which break nothing:', ...added.map(({ sentence }) => `  added   ${sentence}`)]),
  ]
}

function describeOperations(operations: CheckReport['operations']): string[] {
  const served = operations.flatMap(({ name, cost }) => (cost === null ? [] : [{ name, ...cost }]))
  const failed = operations.filter(({ cost }) => cost === null)
  const width = Math.max(9, ...served.map(({ name }) => name.length))
  const row = (name: string, cells: readonly (string | number)[]) =>
    `  ${name.padEnd(width)}  ${cells.map((cell) => String(cell).padStart(9)).join('')}`
  return [
    `Operations: ${served.length} of ${operations.length} can be served.`,
    ...failed.flatMap(({ name, file, problems }) => problems.map((problem) => `  BREAKS  ${name} (${file}): ${problem}`)),
    ...(served.length === 0 ? [] : [`${row('operation', ['fields', 'depth', 'points', 'fetches', 'waves'])}  subgraphs`]),
    ...served.map(
      (each) => `${row(each.name, [each.fields, each.depth, each.points, each.fetches, each.waves])}  ${each.subgraphs.join(', ')}`,
    ),
  ]
}

function describeWarnings(warnings: readonly Warning[]): string[] {
  if (warnings.length === 0) return ['The linter finds nothing.']
  return ['Warnings:', ...warnings.map(({ rule, sentence }) => `  ${rule}  ${sentence}`)]
}
