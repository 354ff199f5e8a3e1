/** The documents about alerts agree with the shipped rules and with the recorded drill. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { middleOf, readRuns } from '../../scripts/bench-runs.ts'
import { faultsWithoutParts } from './faults-without-parts.ts'

const ROOT = join(import.meta.dirname, '..', '..')
const read = (...path: string[]): string => readFileSync(join(ROOT, ...path), 'utf8')

type Rule = { alert?: string; annotations: { runbook: string } }
const { groups } = parse(read('ops', 'prometheus', 'tidemark.rules.yaml')) as { groups: { rules: Rule[] }[] }
const RUNBOOKS = new Map(
  groups.flatMap(({ rules }) =>
    rules.flatMap(({ alert, annotations }) => (alert === undefined ? [] : [[alert, annotations.runbook.replace('docs/operating/', '')]])),
  ),
)

const PAGE = read('docs', 'operating', 'alerts.md')
/** `fault: alert`, and the seconds of the newest run. */
const RECORDED = new Map(
  readRuns()
    .filter(({ name }) => name === 'alerts')
    .flatMap(({ results }) => results)
    .filter(({ metric }) => /: Tidemark\w+$/.test(metric))
    .map((result) => [result.metric, middleOf(result)]),
)

function drilled(): string[] {
  const { whole: _, ...faults } = faultsWithoutParts()
  return Object.values(faults).flatMap(({ name, alerts }) => alerts.map((alert) => `${name}: ${alert}`))
}

test('the recorded drill has every fault with every alert of it', () => {
  expect([...RECORDED.keys()].toSorted()).toEqual(drilled().toSorted())
})

test('the page of operators has the seconds of the recorded drill, and the runbook of each alert', () => {
  for (const [metric, seconds] of RECORDED) {
    const [fault, alert = ''] = metric.split(/: (?=Tidemark)/)
    expect(PAGE).toContain(`| [\`${alert}\`](${RUNBOOKS.get(alert)}) | ${fault} | ${Math.round(seconds)} |`)
  }
})

test('the page of operators has every alert of the rules, and no other', () => {
  const named = [...PAGE.matchAll(/\[`(?<alert>Tidemark\w+)`\]\((?<runbook>[^)]+)\)/g)].map(({ groups: link }) => link ?? {})
  expect(new Set(named.map(({ alert }) => alert))).toEqual(new Set(RUNBOOKS.keys()))
  for (const { alert = '', runbook } of named) expect(runbook).toBe(RUNBOOKS.get(alert))
})
