/** The panels of a shipped dashboard with their data from Prometheus. */
import type { Prometheus } from '../servers/prometheus.ts'
import type { DrawnPanel, Drawing, Series } from './drawing.ts'

type Target = { expr: string; legendFormat: string }
type GrafanaPanel = {
  type: 'row' | 'timeseries'
  title: string
  gridPos: DrawnPanel['place']
  fieldConfig?: { defaults: { unit: string } }
  targets?: readonly Target[]
}
export type GrafanaDashboard = { title: string; panels: readonly GrafanaPanel[] }
/** Unix seconds. */
export type Span = { from: number; to: number; step: number }

export type DrawingOptions = { span: Span; scrapeSeconds: number }

const NOTE = 'A small deployment. Drawn from the data of Prometheus, without Grafana.'
/** As Grafana has it: four scrapes. */
const SCRAPES = 4

export async function drawingOf(
  { title, panels }: GrafanaDashboard,
  prometheus: Pick<Prometheus, 'queryRange'>,
  { span, scrapeSeconds }: DrawingOptions,
): Promise<Drawing> {
  const times = Array.from({ length: Math.floor((span.to - span.from) / span.step) + 1 }, (_, at) => span.from + at * span.step)

  async function seriesOf({ expr, legendFormat }: Target): Promise<Series[]> {
    const found = await prometheus.queryRange(expr.replaceAll('$__rate_interval', `${SCRAPES * scrapeSeconds}s`), span)
    return found.map(({ metric, values }) => {
      // A quantile of no observations is NaN.
      const byTime = new Map(values.filter(([, value]) => !Number.isNaN(value)))
      const legend = legendFormat.replaceAll(/\{\{\s*(\w+)\s*\}\}/g, (_, label: string) => metric[label] ?? '')
      return { legend, values: times.map((time) => byTime.get(time) ?? null) }
    })
  }

  const drawn = panels.map(async ({ type, title: of, gridPos, fieldConfig, targets = [] }): Promise<DrawnPanel> => ({
    title: of,
    unit: fieldConfig?.defaults.unit ?? '',
    isTitle: type === 'row',
    place: gridPos,
    series: (await Promise.all(targets.map(seriesOf))).flat(),
  }))
  return { title, note: NOTE, times, panels: await Promise.all(drawn) }
}
