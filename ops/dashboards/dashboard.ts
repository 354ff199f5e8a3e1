/**
 * A dashboard as a description, and its JSON for Grafana. Every panel is a chart over time. Panels stand in rows of three, in the order
 * of the description.
 */
export type Panel = {
  title: string
  /** One sentence for the reader of the panel. */
  about: string
  /** A unit of Grafana, such as `s` or `reqps`. */
  unit: Unit
  queries: readonly Query[]
}

export type Query = {
  expr: string
  /** A template with labels, such as `{{store}}`. */
  legend: string
  /** True if a healthy deployment has no series for it, such as failures. */
  mayBeEmpty?: boolean
}

export type Section = { title: string; panels: readonly Panel[] }
export type Dashboard = { id: string; title: string; about: string; sections: readonly Section[] }
export type Unit = 's' | 'ms' | 'bytes' | 'short' | 'percentunit' | 'reqps' | 'wps' | 'Bps' | 'bool_on_off' | 'dateTimeFromNow'

/** The range of rates: at least four scrapes. Grafana replaces it. */
export const RATE = '$__rate_interval'

const COLUMNS = 3
const WIDTH = 24 / COLUMNS
const HEIGHT = 8
const SOURCE = { type: 'prometheus', uid: '${datasource}' }

export function grafanaJson({ id, title, about, sections }: Dashboard): string {
  const panels: object[] = []
  let y = 0
  for (const section of sections) {
    panels.push({
      id: panels.length + 1,
      type: 'row',
      title: section.title,
      collapsed: false,
      panels: [],
      gridPos: { x: 0, y, w: 24, h: 1 },
    })
    y += 1
    section.panels.forEach((panel, at) => {
      const place = { x: (at % COLUMNS) * WIDTH, y: y + Math.floor(at / COLUMNS) * HEIGHT, w: WIDTH, h: HEIGHT }
      panels.push(chart(panels.length + 1, panel, place))
    })
    y += Math.ceil(section.panels.length / COLUMNS) * HEIGHT
  }
  const dashboard = {
    ...{ uid: `tidemark-${id}`, title: `Tidemark: ${title}`, description: about, tags: ['tidemark'] },
    ...{ schemaVersion: 39, version: 1, editable: true, graphTooltip: 1, refresh: '30s', time: { from: 'now-1h', to: 'now' } },
    links: [{ type: 'dashboards', title: 'Tidemark', tags: ['tidemark'], asDropdown: true, includeVars: true, keepTime: true }],
    templating: { list: [{ name: 'datasource', label: 'Data source', type: 'datasource', query: 'prometheus' }] },
    panels,
  }
  return `${JSON.stringify(dashboard, undefined, 2)}\n`
}

function chart(id: number, { title, about, unit, queries }: Panel, gridPos: object): object {
  return {
    ...{ id, type: 'timeseries', title, description: about, datasource: SOURCE, gridPos },
    fieldConfig: { defaults: { unit, min: 0, custom: { lineWidth: 1, fillOpacity: 10, showPoints: 'never' } }, overrides: [] },
    options: { legend: { displayMode: 'list', placement: 'bottom', showLegend: true }, tooltip: { mode: 'multi', sort: 'desc' } },
    targets: queries.map(({ expr, legend }, at) => ({
      ...{ refId: String.fromCodePoint('A'.codePointAt(0)! + at), datasource: SOURCE, expr, legendFormat: legend, range: true },
    })),
  }
}
