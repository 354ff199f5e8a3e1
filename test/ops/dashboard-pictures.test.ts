/** The data of a picture of a dashboard: what Prometheus answers for the shipped panels. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { drawingOf, type GrafanaDashboard } from '../../scripts/dashboards/panels.ts'

const OVERVIEW = JSON.parse(
  readFileSync(join(import.meta.dirname, '..', '..', 'ops', 'grafana', 'overview.json'), 'utf8'),
) as GrafanaDashboard
const OPTIONS = { span: { from: 100, to: 104, step: 2 }, scrapeSeconds: 2 }

test('panels keep their places and units, and rates have a range of four scrapes', async () => {
  const asked: string[] = []
  const { panels } = await drawingOf(OVERVIEW, { queryRange: async (expr) => (asked.push(expr), []) }, OPTIONS)
  expect(panels.map(({ title, place }) => ({ title, place }))).toEqual(
    OVERVIEW.panels.map(({ title, gridPos }) => ({ title, place: gridPos })),
  )
  expect(panels.find(({ title }) => title === 'Operations')?.unit).toBe('reqps')
  expect(asked).toContain('sum by (outcome) (rate(tidemark_gateway_requests_total[8s]))')
})

test('a time without a sample and a quantile of nothing are gaps, and legends have the labels', async () => {
  const answer = { metric: { outcome: 'ok' }, values: [[100, 3] as const, [104, Number.NaN] as const] }
  const { panels, times } = await drawingOf(OVERVIEW, { queryRange: async () => [answer] }, OPTIONS)
  expect(times).toEqual([100, 102, 104])
  expect(panels.find(({ title }) => title === 'Operations')?.series).toEqual([{ legend: 'ok', values: [3, null, null] }])
})
