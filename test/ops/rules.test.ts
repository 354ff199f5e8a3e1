/**
 * The shipped rules in promtool: every alert fires for the series of its fault and not before its time, and stays silent for series of a
 * healthy deployment.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { stringify } from 'yaml'
import { ALERTS } from '../../ops/alerts/all.ts'
import { ensurePrometheus, prometheusIsHere, promtool } from '../../scripts/servers/prometheus.ts'
import { CASES, type RuleCase } from './rule-cases.ts'

const RULES = join(import.meta.dirname, '..', '..', 'ops', 'prometheus', 'tidemark.rules.yaml')

describe.skipIf(!(await prometheusIsHere()))('the rules in promtool', () => {
  let folder: string
  beforeAll(async () => {
    await ensurePrometheus()
    folder = mkdtempSync(join(tmpdir(), 'tidemark-rules-'))
  })
  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  test('have no mistake', async () => {
    expect(await promtool(['check', 'rules', RULES])).toContain('SUCCESS')
  })

  test('fire for their fault, not before their time, and never for a healthy deployment', async () => {
    const file = join(folder, 'tests.yaml')
    writeFileSync(file, stringify({ rule_files: [RULES], evaluation_interval: '1m', tests: CASES.flatMap(testsOf) }, { lineWidth: 0 }))
    expect(await promtool(['test', 'rules', file])).toContain('SUCCESS')
  })

  test('that are wrong are found by these tests', async () => {
    const file = join(folder, 'wrong.yaml')
    const [first] = CASES.flatMap(testsOf) as [object]
    const silent = { ...first, input_series: [] }
    writeFileSync(file, stringify({ rule_files: [RULES], evaluation_interval: '1m', tests: [silent] }))
    await expect(promtool(['test', 'rules', file])).rejects.toThrow('FAILED')
  })
})

test('every alert has a case', () => {
  const keyOf = ({ name, severity }: { name: string; severity: string }) => `${name} ${severity}`
  expect([...new Set(CASES.map(keyOf))].toSorted()).toEqual(ALERTS.map(keyOf).toSorted())
})

/** Of the fault: silent at one time, firing at a later one. Of the healthy deployment: silent at the later one. */
function testsOf({ name, severity, fault, healthy, silentAt, firesAt }: RuleCase): object[] {
  const firing = `count(ALERTS{alertname="${name}", severity="${severity}", alertstate="firing"}) > 0 or on () vector(0)`
  const expects = (minutes: number, count: number) => ({
    expr: firing,
    eval_time: `${minutes}m`,
    exp_samples: [{ labels: '{}', value: count }],
  })
  const series = (all: RuleCase['fault']) => Object.entries(all).map(([each, values]) => ({ series: each, values }))
  const before = silentAt === undefined ? [] : [expects(silentAt, 0)]
  return [
    { interval: '1m', input_series: series(fault), promql_expr_test: [...before, expects(firesAt, 1)] },
    { interval: '1m', input_series: series(healthy), promql_expr_test: [expects(firesAt, 0)] },
  ]
}
