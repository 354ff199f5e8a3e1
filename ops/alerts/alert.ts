/**
 * An alert, as `ops/rules.ts` writes it into the rules of Prometheus. Expressions get their time ranges from `Span`, so that a test can run
 * the same rules many times faster.
 */
export type Alert = {
  name: `Tidemark${string}`
  /** page: somebody acts now. ticket: somebody acts today. */
  severity: 'page' | 'ticket'
  /** Minutes that the condition holds before the alert fires. */
  afterMinutes: number
  /** One sentence with the labels of the alert as templates of Prometheus. */
  summary: string
  expr(span: Span): string
}

export type Span = {
  /** A range of time, such as `5m`. */
  range(minutes: number): string
  /** A number of seconds, for comparisons. */
  seconds(count: number): number
}

/** `speed`: 1 as in production. With 30, ten minutes take twenty seconds. */
export function spanOf(speed: number): Span {
  return {
    range: (minutes) => (speed === 1 ? wholeRange(minutes) : `${Math.round((minutes * 60_000) / speed)}ms`),
    seconds: (count) => count / speed,
  }
}

function wholeRange(minutes: number): string {
  return minutes % 60 === 0 && minutes > 0 ? `${minutes / 60}h` : `${minutes}m`
}

/** The first of these with a value, for the same labels: alternatives that one alert covers. */
export function anyOf(exprs: readonly string[]): string {
  return exprs.join('\nor\n')
}

/** Adds a label to all series of an expression. */
export function labelled(expr: string, label: string, value: string): string {
  return `label_replace(${expr}, "${label}", "${value}", "", "")`
}

/** The page that explains an alert: TidemarkStoreDown → store-down. */
export function runbookOf({ name }: Pick<Alert, 'name'>): string {
  return name
    .replace(/^Tidemark/, '')
    .replaceAll(/(?<=[a-z])(?=[A-Z])/g, '-')
    .toLowerCase()
}
