/** Alerts about the graph, its operations, its subgraphs, and the configuration. */
import type { Alert } from './alert.ts'

export const GATEWAY_ALERTS: readonly Alert[] = [
  {
    name: 'TidemarkGraphNotReloaded',
    severity: 'ticket',
    afterMinutes: 0,
    summary: '{{ $labels.instance }} still serves the graph from before a change.',
    expr: ({ range }) => `increase(tidemark_supergraph_reloads_total{result="failed"}[${range(10)}]) > 0`,
  },
  {
    name: 'TidemarkConfigRefused',
    severity: 'ticket',
    afterMinutes: 1,
    summary: '{{ $labels.instance }} keeps an older version of the live configuration.',
    expr: () => 'tidemark_config_refused == 1',
  },
  {
    name: 'TidemarkManifestsBroken',
    severity: 'ticket',
    afterMinutes: 5,
    summary: '{{ $labels.instance }} has manifests or persisted operations that do not work.',
    expr: () => 'tidemark_persisted_broken_manifests > 0 or tidemark_persisted_failing_operations > 0',
  },
  {
    name: 'TidemarkSubgraphFailing',
    severity: 'page',
    afterMinutes: 5,
    summary: '{{ $value | humanizePercentage }} of the fetches from the subgraph {{ $labels.subgraph }} fail.',
    expr: ({ range }) =>
      `sum by (subgraph) (rate(tidemark_subgraph_fetch_seconds_count{outcome="failed"}[${range(5)}]))\n  / sum by (subgraph) (rate(tidemark_subgraph_fetch_seconds_count[${range(5)}])) > 0.05`,
  },
]
