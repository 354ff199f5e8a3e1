/**
 * The figures of the console, from the text of `/metrics`. With `--workers` that text has the sums of all processes. A figure is null while
 * the store that knows it is down (`NaN`), and absent if no metric of the process has it, as in a gateway without jobs.
 */

/** The metrics behind each figure. A figure is the sum of its metrics over all labels. */
const FIGURES = {
  reports: ['tidemark_reports_total'],
  marks: ['tidemark_marks_total'],
  plays: ['tidemark_played_total', 'tidemark_history_plays_at_once_total', 'tidemark_history_plays_postponed_total'],
  posts: ['tidemark_feed_published_total'],
  candidates: ['tidemark_candidates_total'],
  flushes: ['tidemark_flush_messages_total', 'tidemark_marks_flush_messages_total', 'tidemark_feed_flush_messages_total'],
  rows: ['tidemark_persisted_rows_total', 'tidemark_marks_persisted_rows_total', 'tidemark_feed_persisted_posts_total'],
  dirty: ['tidemark_dirty_keys', 'tidemark_dirty_marks', 'tidemark_feed_dirty_keys', 'tidemark_feed_dirty_counters'],
  lag: [
    ...['tidemark_log_lag_messages', 'tidemark_marks_log_lag_messages', 'tidemark_plays_log_lag_messages'],
    'tidemark_feed_log_lag_messages',
  ],
  journal: ['tidemark_journal_waiting_entries', 'tidemark_marks_journal_waiting_entries'],
  sockets: ['tidemark_gateway_sockets_open'],
  subscriptions: ['tidemark_gateway_subscriptions_open'],
} as const

export type FigureName = keyof typeof FIGURES

export type Operation = { kind: string; name: string; count: number; failed: number; cost: number }

export type Fetches = { fetches: number; failed: number }

export type Sample = { labels: Readonly<Record<string, string>>; value: number }

/** The samples of each metric, by its name. */
export type Samples = ReadonlyMap<string, readonly Sample[]>

/** Reads the text format of Prometheus. In labels, only names that clients choose have escaped characters. */
export function readSamples(text: string): Samples {
  const samples = new Map<string, Sample[]>()
  for (const [, name = '', labels = '', value] of text.matchAll(/^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)/gm)) {
    const all = samples.get(name) ?? []
    samples.set(name, all)
    all.push({
      labels: Object.fromEntries(Array.from(labels.matchAll(/(\w+)="((?:\\.|[^"\\])*)"/g), ([, key, text]) => [key, text])),
      value: Number(value),
    })
  }
  return samples
}

export function figuresOf(samples: Samples): Partial<Record<FigureName, number | null>> {
  const figures: Partial<Record<FigureName, number | null>> = {}
  for (const [name, metrics] of Object.entries(FIGURES) as [FigureName, readonly string[]][]) {
    const known = metrics.flatMap((metric) => samples.get(metric) ?? [])
    if (known.length === 0) continue
    const sum = known.reduce((total, { value }) => total + value, 0)
    figures[name] = Number.isNaN(sum) ? null : sum
  }
  return figures
}

/** Requests by their time: how many took at most this many seconds, over all kinds. */
export function latencyOf(samples: Samples): { seconds: number; count: number }[] {
  const counts = new Map<number, number>()
  for (const { labels, value } of samples.get('tidemark_gateway_request_seconds_bucket') ?? []) {
    if (labels['kind'] === 'unknown' || labels['le'] === '+Inf') continue
    const seconds = Number(labels['le'])
    counts.set(seconds, (counts.get(seconds) ?? 0) + value)
  }
  return Array.from(counts, ([seconds, count]) => ({ seconds, count })).toSorted((a, b) => a.seconds - b.seconds)
}

export function requestsOf(samples: Samples): number {
  return (samples.get('tidemark_gateway_request_seconds_count') ?? [])
    .filter(({ labels }) => labels['kind'] !== 'unknown')
    .reduce((total, { value }) => total + value, 0)
}

/** Operations by kind and name, those with the highest cost in all first. */
export function operationsOf(samples: Samples, most: number): Operation[] {
  const operations = new Map<string, Operation>()
  function of({ kind = '', name = '' }: Sample['labels']): Operation {
    const key = `${kind} ${name}`
    const operation = operations.get(key) ?? { kind, name, count: 0, failed: 0, cost: 0 }
    operations.set(key, operation)
    return operation
  }
  for (const { labels, value } of samples.get('tidemark_gateway_requests_total') ?? []) {
    if (labels['kind'] === 'unknown') continue
    of(labels).count += value
    if (labels['outcome'] !== 'ok') of(labels).failed += value
  }
  for (const { labels, value } of samples.get('tidemark_gateway_operation_cost_total') ?? []) of(labels).cost += value
  return [...operations.values()].toSorted((a, b) => b.cost - a.cost || b.count - a.count).slice(0, most)
}

/** Fetches of each subgraph, by its name. */
export function fetchesOf(samples: Samples): Map<string, Fetches> {
  const all = new Map<string, Fetches>()
  for (const { labels, value } of samples.get('tidemark_subgraph_fetch_seconds_count') ?? []) {
    const name = labels['subgraph'] ?? ''
    const { fetches, failed } = all.get(name) ?? { fetches: 0, failed: 0 }
    all.set(name, { fetches: fetches + value, failed: failed + (labels['outcome'] === 'failed' ? value : 0) })
  }
  return all
}
