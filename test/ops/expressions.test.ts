/** Every metric and label in the rules and on the dashboards exists: processes register them with these labels. */
import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { runbookOf, spanOf } from '../../ops/alerts/alert.ts'
import { ALERTS } from '../../ops/alerts/all.ts'
import { recordingRules } from '../../ops/alerts/service-levels.ts'
import { DASHBOARDS } from '../../ops/dashboards/all.ts'
import { grafanaJson } from '../../ops/dashboards/dashboard.ts'
import { expressionMistakes, type Known } from '../../ops/expressions.ts'
import { collectMetrics } from '../../scripts/reference/collect-metrics.ts'

const ROOT = join(import.meta.dirname, '..', '..')
const RUNBOOKS = join(ROOT, 'docs', 'operating', 'runbooks')

describe('expressions', () => {
  let known: Known
  beforeAll(async () => {
    const parts = await collectMetrics({ distributed: true, legacy: true, changes: true })
    known = new Map([...parts.values()].flat().map(({ name, type, labels }) => [name, { type, labels }]))
  })
  const recorded = recordingRules(spanOf(1)).map(({ record }) => record)

  test.each(ALERTS.map((alert) => [`${alert.name} (${alert.severity})`, alert] as const))(
    'of the alert %s has only known metrics and labels',
    (_, { expr }) => {
      expect(expressionMistakes(expr(spanOf(1)), known, recorded)).toEqual([])
    },
  )

  test('of recording rules have only known metrics and labels', () => {
    expect(recordingRules(spanOf(1)).flatMap(({ expr }) => expressionMistakes(expr, known, []))).toEqual([])
  })

  test.each(DASHBOARDS.map((dashboard) => [dashboard.id, dashboard] as const))(
    'of the dashboard %s have only known metrics and labels',
    (_, { sections }) => {
      const exprs = sections.flatMap(({ panels }) => panels.flatMap(({ queries }) => queries.map(({ expr }) => expr)))
      expect(exprs.flatMap((expr) => expressionMistakes(expr, known, recorded))).toEqual([])
    },
  )

  test.each([
    ['sum(rate(tidemark_report_total[5m]))', 'no process exports tidemark_report_total'],
    ['tidemark_store_down{shop="log"}', 'tidemark_store_down has no label shop'],
    ['sum by (shop) (tidemark_store_down)', 'no metric of the expression has the label shop'],
    ['rate(tidemark_reports_total_bucket[5m])', 'no process exports tidemark_reports_total_bucket'],
    ['tidemark:nothing:ratio_rate5m > 1', 'no rule records tidemark:nothing:ratio_rate5m'],
  ])('a mistake in %s is found', (expr, mistake) => {
    expect(expressionMistakes(expr, known, recorded)).toEqual([expect.stringContaining(mistake)])
  })
})

test('every alert has a runbook page that names it, and every page an alert', () => {
  const pages = readdirSync(RUNBOOKS).filter((file) => file !== 'index.md')
  expect(pages.toSorted()).toEqual([...new Set(ALERTS.map((alert) => `${runbookOf(alert)}.md`))].toSorted())
  const index = readFileSync(join(RUNBOOKS, 'index.md'), 'utf8')
  for (const alert of ALERTS) {
    expect(readFileSync(join(RUNBOOKS, `${runbookOf(alert)}.md`), 'utf8')).toContain(`\`${alert.name}\``)
    expect(index).toContain(`\`${alert.name}\``)
  }
})

test('labels in the summary of an alert are labels of its expression', () => {
  for (const { name, summary, expr } of ALERTS) {
    const labels = [...summary.matchAll(/\$labels\.(\w+)/g)].map(([, label]) => label as string)
    const text = expr(spanOf(1))
    for (const label of labels) if (label !== 'instance') expect(`${name}: ${text}`).toContain(label)
  }
})

describe('dashboards', () => {
  test.each(DASHBOARDS.map((dashboard) => [dashboard.id, dashboard] as const))(
    '%s has panels that do not overlap, with an id, a unit and a query each',
    (_, dashboard) => {
      const { panels, uid } = JSON.parse(grafanaJson(dashboard)) as {
        uid: string
        panels: { id: number; type: string; gridPos: { x: number; y: number; w: number; h: number }; targets?: { refId: string }[] }[]
      }
      expect(uid).toBe(`tidemark-${dashboard.id}`)
      expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length)
      const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
        Array.from({ length: w * h }, (__, at) => `${x + (at % w)} ${y + Math.floor(at / w)}`),
      )
      expect(new Set(cells).size).toBe(cells.length)
      for (const { type, targets } of panels)
        if (type !== 'row') expect(new Set(targets?.map(({ refId }) => refId)).size).toBeGreaterThan(0)
    },
  )

  test('have distinct ids, and all are committed', () => {
    for (const { id } of DASHBOARDS) expect(existsSync(join(ROOT, 'ops', 'grafana', `${id}.json`))).toBe(true)
    expect(new Set(DASHBOARDS.map(({ id }) => id)).size).toBe(readdirSync(join(ROOT, 'ops', 'grafana')).length)
  })
})
