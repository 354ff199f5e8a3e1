/** Panels that several dashboards have. */
import { RATE, type Panel, type Query, type Unit } from './dashboard.ts'

const CALLS = 'tidemark_store_call_seconds'

export function perSecond(metric: string, legend: string, by = '', mayBeEmpty = false): Query {
  return { expr: `sum${by === '' ? '' : ` by (${by})`} (rate(${metric}[${RATE}]))`, legend, ...(mayBeEmpty && { mayBeEmpty }) }
}

export function panel(title: string, about: string, unit: Unit, ...queries: Query[]): Panel {
  return { title, about, unit, queries }
}

/** `labels`: matchers and a comma at the end, or empty. */
export function quantiles(metric: string, labels: string, by: string): Query[] {
  return [0.5, 0.99].map((share) => ({
    expr: `histogram_quantile(${share}, sum by (${by === '' ? '' : `${by}, `}le) (rate(${metric}_bucket{${labels}}[${RATE}])))`,
    legend: `${by === '' ? '' : `{{${by}}} `}p${share * 100}`,
  }))
}

/** The calls of the stores of one subgraph. */
export function storePanels(subgraph: string): Panel[] {
  const of = `subgraph="${subgraph}"`
  return [
    panel(
      'Calls',
      'Calls of the stores per second, by requests and jobs.',
      'reqps',
      perSecond(`${CALLS}_count{${of}}`, '{{store}}', 'store'),
    ),
    panel('Slowest calls', 'The 99th percentile of the time of a call.', 's', {
      expr: `histogram_quantile(0.99, sum by (store, le) (rate(${CALLS}_bucket{${of}, operation!~"check|consume.*"}[${RATE}])))`,
      legend: '{{store}}',
    }),
    panel(
      'Calls without an answer',
      'Calls per second that failed, by outcome. A healthy store has none.',
      'reqps',
      perSecond(`${CALLS}_count{${of}, outcome!="ok"}`, '{{store}} {{outcome}}', 'store, outcome', true),
    ),
  ]
}

/** Processes that have the metric. */
export function processPanels(metric: string): Panel[] {
  const here = `and on (instance) ${metric}`
  return [
    panel('CPU', 'Cores in use, per process. JavaScript runs on one of them.', 'short', {
      expr: `rate(process_cpu_seconds_total[${RATE}]) ${here}`,
      legend: '{{instance}}',
    }),
    panel('Memory', 'Resident memory, per process.', 'bytes', { expr: `process_resident_memory_bytes ${here}`, legend: '{{instance}}' }),
    panel('Event loop', 'The time between two runs of a timer of 250 ms, 99th percentile. Above 0.65 s the process is overloaded.', 's', {
      expr: `nodejs_eventloop_lag_p99_seconds ${here}`,
      legend: '{{instance}}',
    }),
  ]
}
