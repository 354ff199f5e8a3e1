/**
 * Service levels: 99.9% of the operations do not fail, and 99% of the queries and mutations take less than 250 ms. Recording rules hold the
 * share of bad operations over several ranges. An alert fires if the error budget of 30 days burns too fast, over a long and a short range: the
 * long one keeps short disturbances from firing, and the short one ends the alert soon after the cause has gone (Google's SRE workbook,
 * chapter 5).
 */
import type { Alert, Span } from './alert.ts'

export type RecordingRule = { record: string; expr: string }

const LEVELS = [
  {
    name: 'TidemarkErrorBudgetBurn',
    what: 'of the operations fail',
    budget: 0.001,
    record: 'tidemark:operations_failed',
    share: (range: string) => `sum(rate(tidemark_gateway_failed_total[${range}])) / sum(rate(tidemark_gateway_requests_total[${range}]))`,
  },
  {
    name: 'TidemarkLatencyBudgetBurn',
    what: 'of the operations take longer than 250 ms',
    budget: 0.01,
    record: 'tidemark:operations_slow',
    share: (range: string) =>
      `1 - sum(rate(tidemark_gateway_request_seconds_bucket{kind=~"query|mutation", le="0.25"}[${range}])) / sum(rate(tidemark_gateway_request_seconds_count{kind=~"query|mutation"}[${range}]))`,
  },
] as const

/** In minutes. */
const RANGES = [5, 30, 60, 360] as const
const BURNS = [
  { severity: 'page', long: 60, short: 5, times: 14.4 },
  { severity: 'ticket', long: 360, short: 30, times: 6 },
] as const

export function recordingRules({ range }: Span): RecordingRule[] {
  return LEVELS.flatMap(({ record, share }) =>
    RANGES.map((minutes) => ({ record: recordOf(record, minutes), expr: share(range(minutes)) })),
  )
}

export const SERVICE_LEVEL_ALERTS: readonly Alert[] = LEVELS.flatMap(({ name, what, budget, record }) =>
  BURNS.map(({ severity, long, short, times }) => ({
    name,
    severity,
    afterMinutes: 2,
    summary: `{{ $value | humanizePercentage }} ${what}, ${times} times the error budget.`,
    expr: () => {
      const limit = Number((budget * times).toPrecision(6))
      return `${recordOf(record, long)} > ${limit} and ${recordOf(record, short)} > ${limit}`
    },
  })),
)

/** Named after the range in production, also if a test runs faster. */
function recordOf(record: string, minutes: number): string {
  return `${record}:ratio_rate${minutes % 60 === 0 ? `${minutes / 60}h` : `${minutes}m`}`
}
