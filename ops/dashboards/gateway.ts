/** The gateways, and subgraphs that run alone. */
import { RATE, type Dashboard } from './dashboard.ts'
import { panel, perSecond, processPanels, quantiles } from './panels.ts'

export const GATEWAY: Dashboard = {
  id: 'gateway',
  title: 'gateway',
  about: 'Operations, their cost, the subgraphs behind them, connections and the memory of clients.',
  sections: [
    {
      title: 'Operations',
      panels: [
        panel(
          'Operations',
          'Answered operations per second, by kind and outcome.',
          'reqps',
          perSecond('tidemark_gateway_requests_total', '{{kind}} {{outcome}}', 'kind, outcome'),
        ),
        panel(
          'Time',
          'From a parsed request to its answer.',
          's',
          ...quantiles('tidemark_gateway_request_seconds', 'kind=~"query|mutation"', 'kind'),
        ),
        panel(
          'Errors',
          'Errors in answers per second, by code.',
          'reqps',
          perSecond('tidemark_gateway_errors_total', '{{code}}', 'code', true),
        ),
        panel('Operations by name', 'The ten most frequent operations.', 'reqps', {
          expr: `topk(10, sum by (name) (rate(tidemark_gateway_requests_total[${RATE}])))`,
          legend: '{{name}}',
        }),
        panel('Cost by name', 'The ten most expensive operations, in points per second.', 'short', {
          expr: `topk(10, sum by (name) (rate(tidemark_gateway_operation_cost_total[${RATE}])))`,
          legend: '{{name}}',
        }),
        panel(
          'Degraded answers',
          'Answers per second that lacked a store and named it.',
          'reqps',
          perSecond('tidemark_gateway_degraded_total', '{{store}}', 'store', true),
        ),
      ],
    },
    {
      title: 'Subgraphs and the graph',
      panels: [
        panel(
          'Fetches',
          'Fetches of plans per second, by subgraph and outcome.',
          'reqps',
          perSecond('tidemark_subgraph_fetch_seconds_count', '{{subgraph}} {{outcome}}', 'subgraph, outcome'),
        ),
        panel('Time of fetches', 'By subgraph.', 's', ...quantiles('tidemark_subgraph_fetch_seconds', '', 'subgraph')),
        panel('Served graphs', 'Processes by the hash of their graph. Two lines: some processes serve an older one.', 'short', {
          expr: 'sum by (hash) (tidemark_supergraph_info)',
          legend: '{{hash}}',
        }),
        panel(
          'Lookups of operations',
          'Per second, by result.',
          'reqps',
          perSecond('tidemark_persisted_lookups_total', '{{result}}', 'result', true),
        ),
        panel(
          'Manifests',
          'Persisted operations, and those that do not work.',
          'short',
          { expr: 'max(tidemark_persisted_operations)', legend: 'operations' },
          { expr: 'max(tidemark_persisted_failing_operations)', legend: 'failing operations' },
          { expr: 'max(tidemark_persisted_broken_manifests)', legend: 'broken manifests' },
        ),
        panel('Reloads', 'Reloads of the graph in an hour, by result.', 'short', {
          expr: 'sum by (result) (increase(tidemark_supergraph_reloads_total[1h]))',
          legend: '{{result}}',
          mayBeEmpty: true,
        }),
      ],
    },
    {
      title: 'Connections and memory',
      panels: [
        panel(
          'Connections',
          'Open WebSockets, event streams and subscriptions.',
          'short',
          { expr: 'sum(tidemark_gateway_connections_open)', legend: 'connections' },
          { expr: 'sum(tidemark_gateway_sockets_open)', legend: 'WebSockets' },
          { expr: 'sum(tidemark_gateway_subscriptions_open)', legend: 'subscriptions' },
        ),
        panel(
          'Refused',
          'Per second: connections over a limit, and operations over the limit for preparing.',
          'reqps',
          perSecond('tidemark_gateway_open_refused_total', 'connections'),
          perSecond('tidemark_gateway_preparing_refused_total', 'preparing: {{who}}', 'who', true),
        ),
        panel(
          'Memory of clients',
          'Values that clients made processes keep, and the budget of one process.',
          'bytes',
          { expr: 'sum by (kind) (tidemark_gateway_client_memory_bytes)', legend: '{{kind}}' },
          { expr: 'max(tidemark_gateway_client_memory_max_bytes)', legend: 'budget' },
        ),
      ],
    },
    { title: 'Processes', panels: processPanels('tidemark_gateway_sockets_open') },
  ],
}
