/** The charts of bench/RESULTS.md, from the newest recorded runs. All bars of a panel are from one run. */
import { middleOf, newestResults, type Run } from '../bench-runs.ts'
import { barsOf, type Bar, type Panel } from './bars.ts'
import { linesOf } from './lines.ts'
import type { Chart } from './svg.ts'

/** The figures of metrics of one benchmark. */
type Figures = (name: string, metrics: readonly string[]) => number[]
/** A metric, its label and its kind. */
type Row = readonly [metric: string, label: string, kind: Bar['kind']]

export function chartsOf(runs: readonly Run[]): ({ name: string } & Chart)[] {
  const figures: Figures = (name, metrics) => newestResults(runs, name, metrics).map(middleOf)
  return [
    { name: 'gateway', ...barsOf('The gateway beside other gateways', [gateway(figures)]) },
    { name: 'remote-subgraphs', ...barsOf('A request to four remote subgraphs, seven calls', remoteSubgraphs(figures)) },
    { name: 'feed-page', ...barsOf('Home feed: the cost of reading and of publishing', [pages(figures), publications(figures)]) },
    { name: 'growth', ...growth(figures, 'embedded', 'embedded stores') },
    { name: 'growth-distributed', ...growth(figures, 'distributed', 'servers') },
    { name: 'reads-and-writes', ...barsOf('Writes and reads beside the stores alone', readsAndWrites(figures)) },
    { name: 'at-rest', ...barsOf('An idle process', atRest(figures)) },
    {
      name: 'seen-filters',
      ...barsOf('Seen subjects of 50 million viewers with 10,000 records each', [
        { heading: 'TB', bars: barsFrom(figures, 'existence', SEEN) },
      ]),
    },
  ]
}

function barsFrom(figures: Figures, name: string, rows: readonly Row[]): Bar[] {
  const metrics = rows.map(([metric]) => metric)
  return figures(name, metrics).map((value, at) => {
    const [, label, kind] = rows[at] as Row
    return { label, value, kind }
  })
}

function gateway(figures: Figures): Panel {
  const [ceiling = 0, hive = 0, apollo = 0] = figures('gateway', [
    'ours : ceiling, requests per CPU second',
    'Hive : ours, CPU per request',
    'Apollo : ours, CPU per request',
  ])
  return {
    heading: 'CPU per request, as a multiple of Tidemark',
    bars: [
      { label: 'bare node:http and graphql-jit', value: ceiling, kind: 'limit' },
      { label: 'Tidemark', value: 1, kind: 'ours' },
      { label: 'Hive gateway, native planner', value: hive, kind: 'other' },
      { label: '@apollo/gateway', value: apollo, kind: 'other' },
    ],
  }
}

function remoteSubgraphs(figures: Figures): Panel[] {
  return [
    { heading: 'CPU per request, ms: every request makes its own calls', bars: barsFrom(figures, 'gateway-remote', APART) },
    { heading: 'CPU per request, ms: identical calls in flight are shared', bars: barsFrom(figures, 'gateway-remote', SHARED) },
  ]
}

function pages(figures: Figures): Panel {
  const services = [
    ['embedded', 'Tidemark, embedded', 'ours'],
    ['distributed', 'Tidemark, distributed', 'ours'],
    ['sql', 'one query per author in SQL', 'other'],
    ['fan-out', 'lists in Redis, filled by publications', 'other'],
  ] as const
  const values = figures(
    'feed',
    services.flatMap(([name]) => [`${name}: CPU of the service`, `${name}: CPU of its servers`]),
  )
  return {
    heading: 'A page of 20 posts of 2,000 authors: CPU of the service and its servers, ms',
    bars: services.map(([, label, kind], at) => ({ label, kind, value: (values[2 * at] as number) + (values[2 * at + 1] as number) })),
  }
}

function publications(figures: Figures): Panel {
  const metric = (name: string): string => `a post for 10000 followers, ${name}: CPU, servers included`
  return {
    heading: 'A post for 10,000 followers: CPU with the servers, ms',
    bars: barsFrom(figures, 'feed', [
      [metric('distributed'), 'Tidemark, distributed', 'ours'],
      [metric('fan-out'), 'lists in Redis, filled by publications', 'other'],
    ]),
  }
}

function growth(figures: Figures, shape: 'embedded' | 'distributed', stores: string): Chart {
  const sizes = [10_000, 100_000, 1_000_000, 10_000_000]
  const calls = { report: 'report', mark: 'mark', page: 'page of history' }
  const lines = Object.entries(calls).map(([call, label]) => {
    const values = figures(
      'growth',
      sizes.map((viewers) => `${shape}, ${viewers} viewers: ${call}, CPU : the smallest size`),
    )
    return { label, points: sizes.map((viewers, at) => [viewers, values[at] as number] as const) }
  })
  return linesOf({
    title: `Cost of a call as the site grows, on ${stores}`,
    heading: 'CPU per call : CPU on a small site',
    axis: 'viewers',
    lines,
    target: { value: 1.2, label: 'target: at most 1.2' },
  })
}

function readsAndWrites(figures: Figures): Panel[] {
  const [reports = 0, share = 1] = figures('history', ['batch reports acknowledged and durable', 'batch reports : raw store puts'])
  return [
    {
      heading: 'Embedded: reports per second, in batches (more is better)',
      bars: [
        { label: 'Tidemark', value: reports, kind: 'ours' },
        { label: 'bare LMDB, one put per report', value: reports / share, kind: 'limit' },
      ],
    },
    { heading: 'Distributed: reports per second, in batches (more is better)', bars: barsFrom(figures, 'distributed', DISTRIBUTED) },
    { heading: 'Distributed: CPU of a page of 150 lookups, µs (less is better)', bars: barsFrom(figures, 'thumbup', LOOKUPS) },
  ]
}

function atRest(figures: Figures): Panel[] {
  const bars = (figure: string): Bar[] =>
    barsFrom(figures, 'small', [
      [`npm start: ${figure}`, 'Tidemark, npm start', 'ours'],
      [`bare node:http: ${figure}`, 'bare node:http', 'limit'],
      [`bare Apollo Server: ${figure}`, 'bare Apollo Server, one field', 'other'],
    ])
  return [
    { heading: 'Resident memory, MB', bars: bars('resident memory'), target: { value: 150, label: 'at most 150' } },
    { heading: 'First answer after the start, ms', bars: bars('first answer'), target: { value: 1_000, label: 'at most 1,000' } },
  ]
}

const APART: readonly Row[] = [
  ['floor-apart-changing: CPU', 'bare node:http, no answer repeats', 'limit'],
  ['ours-apart-changing: CPU', 'Tidemark, no answer repeats', 'ours'],
  ['floor-apart: CPU', 'bare node:http, answers repeat', 'limit'],
  ['ours-apart: CPU', 'Tidemark, answers repeat', 'ours'],
]
const SHARED: readonly Row[] = [
  ['floor: CPU', 'bare node:http', 'limit'],
  ['ours: CPU', 'Tidemark', 'ours'],
]
const DISTRIBUTED: readonly Row[] = [
  ['reports acknowledged', 'Tidemark', 'ours'],
  ['Redis script alone', 'the script alone, on Redis', 'limit'],
  ['MariaDB guarded rows alone', 'guarded rows alone, on MariaDB', 'limit'],
]
const LOOKUPS: readonly Row[] = [
  ['page, CPU of the gateway', 'Tidemark, a page over HTTP', 'ours'],
  ['the same keys by pipelined reads, CPU', 'ioredis alone, one command per key', 'limit'],
  ['the same keys by pipelined multi-gets, CPU', 'ioredis alone, four multi-gets', 'limit'],
]
const SEEN: readonly Row[] = [
  ['50 million viewers x 10000: filters', 'Tidemark: filters that are read', 'ours'],
  ['50 million viewers x 10000: MariaDB', 'the same, as rows of MariaDB', 'ours'],
  ['50 million viewers x 10000: raw ids', 'raw ids of 25 bytes', 'other'],
  ['50 million viewers x 10000: sorted sets of Redis', 'sorted sets of Redis', 'other'],
]
