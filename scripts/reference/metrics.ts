/** docs/reference/metrics.md: every metric with its labels and the commands that serve it. */
import { SUBGRAPH_NAMES } from '../../subgraphs/names.ts'
import type { Features, Metric, MetricPart, MetricsOfParts } from './collect-metrics.ts'
import { cell, code, codes, page, prose, refuseUnused, sentence, table, type Page } from './page.ts'

const ALL: Features = { distributed: true, legacy: true, changes: true }

/** Conditions of some metrics, each with the features of a process that does not meet it. */
const CONDITIONS: readonly { without: Features; text: string }[] = [
  { without: { ...ALL, legacy: false }, text: 'If `existence.legacy` is set:' },
  { without: { ...ALL, changes: false }, text: 'If `thumbup.changes.feed` is `binlog` or `canal`:' },
  { without: { distributed: false, legacy: true, changes: false }, text: 'In the distributed shape:' },
]

/**
 * The library registers these on Linux only. They are left out, so that the page is the same on every system. The section of the process
 * names them.
 */
const LINUX_ONLY = ['process_virtual_memory_bytes', 'process_heap_bytes', 'process_open_fds', 'process_max_fds']

/** Sections repeat metrics of later ones: a gateway has the metrics of the process. A metric is listed in the last section that has it. */
const SECTIONS: readonly { title: string; text: string; parts: readonly MetricPart[] }[] = [
  {
    title: 'Requests',
    text: 'See [Limits](../gateway/limits.md), [Persisted operations](../gateway/persisted-operations.md) and [Partners](../gateway/partners.md).',
    parts: ['gateway', 'standalone'],
  },
  {
    title: 'History',
    text: 'See [the API of history](../api/history.md) and [Concepts](../concepts.md).',
    parts: ['history requests', 'history job'],
  },
  {
    title: 'Likes',
    text: 'See [the API of likes](../api/likes.md) and [Servers](../operating/servers.md#caches-of-counts-and-a-change-feed).',
    parts: ['thumbup requests', 'thumbup job'],
  },
  {
    title: 'Feed existence',
    text: 'See [the API of feed existence](../api/feed-existence.md) and [Migration](../operating/migration.md).',
    parts: ['feed-existence requests', 'feed-existence job'],
  },
  {
    title: 'Feed',
    text: 'Hits and misses of the cache have a label for the class of values: heads and outboxes of authors, inboxes, and contents of posts.',
    parts: ['feed requests', 'feed job'],
  },
  {
    title: 'Calls of the stores',
    text: 'Every process serves this metric, with the operations that it has called since its start.',
    parts: ['store calls'],
  },
  {
    title: 'Servers of the stores',
    text: 'Every process of the distributed shape serves this metric. See [Doctor](../operating/doctor.md).',
    parts: ['servers'],
  },
  {
    title: 'Process',
    text: `Every process serves these metrics. On Linux it also serves ${codes(LINUX_ONLY)}.`,
    parts: ['process'],
  },
]

const INTRODUCTION = [
  'This page lists every metric of `/metrics`. [Metrics and alerts](../operating/metrics-and-alerts.md) lists those that need an alert.',
  '`start` serves the metrics of requests and of all jobs. The last line of a metric names the other commands that serve it. On the embedded stores, `subgraph NAME` also serves the metrics of `job NAME`. With `start --workers N`, each value is the sum over all processes.',
]

export type MetricSources = {
  /** With every feature on. */
  all: MetricsOfParts
  /** In the order of `CONDITIONS`. */
  without: readonly MetricsOfParts[]
}

/** `collect` opens the parts of a process with these features. */
export async function readMetrics(collect: (features: Features) => Promise<MetricsOfParts>): Promise<MetricSources> {
  const without: MetricsOfParts[] = []
  for (const condition of CONDITIONS) without.push(await collect(condition.without))
  return { all: await collect(ALL), without }
}

export function metricsPage({ all, without }: MetricSources): Page {
  const sections = SECTIONS.map(({ parts }) => new Map(parts.flatMap((part) => all.get(part) ?? []).map((metric) => [metric.name, metric])))
  const blocks = SECTIONS.flatMap(({ title, text, parts }, at) => {
    const later = sections.slice(at + 1)
    const own = [...(sections[at]?.values() ?? [])].filter(
      ({ name }) => !LINUX_ONLY.includes(name) && !later.some((each) => each.has(name)),
    )
    const showsCommands = parts.length > 1
    const byCondition = Map.groupBy(own, ({ name }) => (showsCommands ? CONDITIONS.findIndex((_, at) => !has(without[at], name)) : -1))
    return [
      `## ${title}`,
      text,
      ...[...byCondition]
        .toSorted(([one], [other]) => one - other)
        .flatMap(([condition, some]) => [CONDITIONS[condition]?.text ?? '', metricTable(some, showsCommands ? all : undefined)]),
    ]
  })
  const conditions = CONDITIONS.map(({ text }) => text)
  refuseUnused('condition', conditions, blocks, 'scripts/reference/metrics.ts')
  return page('docs/reference/metrics.md', 3, 'Metrics', [...INTRODUCTION, ...blocks])
}

function has(metrics: MetricsOfParts | undefined, name: string): boolean {
  return [...(metrics?.values() ?? [])].some((part) => part.some((metric) => metric.name === name))
}

/** `all`: to name the commands that serve each metric. */
function metricTable(metrics: readonly Metric[], all: MetricsOfParts | undefined): string {
  return table(
    ['metric', `meaning, type, labels${all === undefined ? '' : ', served by'}`],
    metrics.map(({ name, type, labels, help }) => [
      code(name),
      cell([
        prose(sentence(help)),
        [type, ...(labels.length === 0 ? [] : [`labels ${codes(labels)}`])].join(', '),
        all === undefined ? '' : codes(commandsWith(name, all)),
      ]),
    ]),
  )
}

/** The commands beside `start` that serve the metric. */
function commandsWith(name: string, all: MetricsOfParts): string[] {
  const inPart = (part: MetricPart): boolean => all.get(part)?.some((metric) => metric.name === name) ?? false
  const served = SUBGRAPH_NAMES.filter((each) => inPart(`${each} requests`))
  return [
    ...(inPart('gateway') || served.length > 0 ? ['gateway'] : []),
    ...(inPart('standalone') ? ['subgraph'] : served.map((each) => `subgraph ${each}`)),
    ...SUBGRAPH_NAMES.filter((each) => inPart(`${each} job`)).map((each) => `job ${each}`),
  ]
}
