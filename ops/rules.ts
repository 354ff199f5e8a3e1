/** The rules for Prometheus, as YAML. `ops/prometheus/tidemark.rules.yaml` has them as shipped. */
import { stringify } from 'yaml'
import { runbookOf, spanOf, type Alert } from './alerts/alert.ts'
import { ALERT_GROUPS } from './alerts/all.ts'
import { recordingRules } from './alerts/service-levels.ts'

export type RulesOptions = {
  /** How many times faster than in production all ranges and waits are. Default 1. */
  speed?: number
  /** The address before the name of a runbook page. Default: the folder in the repository. */
  runbooks?: string
}

export const RUNBOOKS = 'docs/operating/runbooks'

export function rulesYaml({ speed = 1, runbooks = RUNBOOKS }: RulesOptions = {}): string {
  const span = spanOf(speed)
  const alerting = ({ name, severity, afterMinutes, summary, expr }: Alert) => ({
    alert: name,
    expr: expr(span),
    ...(afterMinutes > 0 && { for: span.range(afterMinutes) }),
    labels: { severity },
    annotations: { summary, runbook: `${runbooks}/${runbookOf({ name })}.md` },
  })
  const groups = [
    { name: 'tidemark records', rules: recordingRules(span) },
    ...Object.entries(ALERT_GROUPS).map(([name, alerts]) => ({ name: `tidemark ${name}`, rules: alerts.map(alerting) })),
  ]
  return stringify({ groups }, { lineWidth: 0 })
}
