/**
 * Finds names in PromQL that do not exist. promtool checks the syntax of an expression; it cannot know that a metric was renamed, and the
 * alert then never fires.
 */
export type Known = ReadonlyMap<string, { type: string; labels: readonly string[] }>

/** Labels that Prometheus adds to every series that it scrapes. */
const SCRAPED = ['job', 'instance']
const ALERTS = ['alertname', 'alertstate', 'severity']
const HISTOGRAM_PARTS = /_(?:bucket|sum|count)$/
/** A metric with its matchers. Functions and aggregations are followed by a parenthesis, and labels stand in one. */
const METRIC = /(?<![\w:$"])(?<name>(?:tidemark|process|nodejs)[\w:]+|up|ALERTS)(?![\w:(])(?:\{(?<matchers>[^}]*)\})?/g
const GROUPING = /\b(?:by|without|on|ignoring)\s*\((?<labels>[^)]*)\)/g
const ADDED = /"(?<label>[a-z]+)", "[^"]*", "", ""\)/g

/** One sentence per unknown metric or label. `recorded`: names of recording rules. */
export function expressionMistakes(expr: string, known: Known, recorded: readonly string[]): string[] {
  const mistakes: string[] = []
  const labels = new Set([...SCRAPED, ...[...expr.matchAll(ADDED)].map(({ groups }) => groups?.['label'] ?? '')])
  for (const { groups } of expr.matchAll(METRIC)) {
    const name = groups?.['name'] ?? ''
    const own = labelsOf(name, known, recorded)
    if (own === undefined) {
      mistakes.push(name.includes(':') ? `no rule records ${name}: ${expr}` : `no process exports ${name}: ${expr}`)
      continue
    }
    for (const label of own) labels.add(label)
    for (const [, label = ''] of (groups?.['matchers'] ?? '').matchAll(/(\w+)\s*(?:=~|!~|!=|=)/g))
      if (!own.includes(label)) mistakes.push(`${name} has no label ${label}: ${expr}`)
  }
  if (mistakes.length > 0) return mistakes
  const grouped = [...expr.matchAll(GROUPING)].flatMap(({ groups }) => (groups?.['labels'] ?? '').split(',')).map((label) => label.trim())
  return grouped
    .filter((label) => label !== '' && !labels.has(label))
    .map((label) => `no metric of the expression has the label ${label}: ${expr}`)
}

function labelsOf(name: string, known: Known, recorded: readonly string[]): readonly string[] | undefined {
  if (recorded.includes(name) || name === 'up') return SCRAPED
  if (name === 'ALERTS') return [...SCRAPED, ...ALERTS]
  const metric = known.get(name)
  if (metric !== undefined) return metric.type === 'histogram' ? undefined : [...SCRAPED, ...metric.labels]
  const histogram = known.get(name.replace(HISTOGRAM_PARTS, ''))
  if (histogram?.type !== 'histogram') return undefined
  return [...SCRAPED, ...histogram.labels, ...(name.endsWith('_bucket') ? ['le'] : [])]
}
