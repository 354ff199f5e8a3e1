/**
 * The metrics of the gateway: requests by kind, name and outcome, their durations, and the open subscriptions and sockets. The registry
 * comes from outside, because other parts add their metrics to it.
 *
 * The names of operations come from clients. Only the first `NAMES_MAX` names are counted separately, and all others as "other". Invented
 * names therefore cannot fill the memory of the server or of its scraper.
 */
import { Counter, Gauge, Histogram, type Registry } from '@prometheus-io/client'
import { makeBoundedNames } from '../limits/bounded-names.ts'
import type { OpenLimits } from '../limits/open-limits.ts'
import { makeAnswerMetrics, type AnswerMetrics, type OperationKind } from './answer-metrics.ts'
import { addProcessMetrics } from './process-metrics.ts'

const NAMES_MAX = 200
const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5]

/** ok: no errors. errors: some fields failed. refused: the operation did not run. */
export type Outcome = 'ok' | 'errors' | 'refused'

export type Metrics = AnswerMetrics & {
  countRequest(kind: OperationKind, name: string | undefined, outcome: Outcome, durationMs: number): void
  /** The cost of an operation that may run, in points. */
  countCost(kind: OperationKind, name: string | undefined, cost: number): void
  countPreparingRefused(who: string): void
  subscriptionOpened(): void
  subscriptionClosed(): void
  socketOpened(): void
  socketClosed(): void
  /** The metrics of the registry, or those of `metricsOfAll`, in the text format of Prometheus. */
  render(metricsOfAll?: () => Promise<string>): Promise<{ contentType: string; text: string }>
}

/** `open`: the counts of open connections and their cost. */
export function makeMetrics(registry: Registry, open?: Pick<OpenLimits, 'figures'>): Metrics {
  const registers = [registry]
  addProcessMetrics(registry)
  const requests = addRequestsMetric(registry)
  const seconds = new Histogram({
    name: 'tidemark_gateway_request_seconds',
    help: 'Seconds from a parsed request to its answer, or to the open stream of a subscription.',
    labelNames: ['kind'],
    buckets: SECONDS,
    registers,
  })
  const subscriptions = new Gauge({
    name: 'tidemark_gateway_subscriptions_open',
    help: 'Open subscriptions over WebSocket and SSE.',
    registers,
  })
  const sockets = new Gauge({ name: 'tidemark_gateway_sockets_open', help: 'Open WebSockets.', registers })

  if (open !== undefined) addOpenMetrics(registry, open)
  const preparingRefused = new Counter({
    name: 'tidemark_gateway_preparing_refused_total',
    help: 'New operations that were refused because the viewer or the address had used up its preparing limit.',
    labelNames: ['who'],
    registers,
  })

  const boundedName = makeBoundedNames(NAMES_MAX, 'other')
  const nameOf = (name: string | undefined): string => (name === undefined ? 'anonymous' : boundedName(name))
  const costs = addCostMetric(registry)

  return {
    ...makeAnswerMetrics(registry),
    countCost(kind, name, cost) {
      addTo(costs[kind], nameOf(name), cost)
    },
    countRequest(kind, name, outcome, durationMs) {
      addTo(requests[kind][outcome], nameOf(name), 1)
      seconds.observe({ kind }, durationMs / 1_000)
    },
    countPreparingRefused: (who) => preparingRefused.inc({ who }),
    subscriptionOpened: () => subscriptions.inc(),
    subscriptionClosed: () => subscriptions.dec(),
    socketOpened: () => sockets.inc(),
    socketClosed: () => sockets.dec(),
    render: async (metricsOfAll = () => registry.metrics()) => ({ contentType: registry.contentType, text: await metricsOfAll() }),
  }
}

function addRequestsMetric(registry: Registry): Record<OperationKind, Record<Outcome, Sums>> {
  const add = addCounter(registry, {
    name: 'tidemark_gateway_requests_total',
    help: 'Answered operations, by kind, name and outcome. An operation that is refused before it runs has the kind "unknown" and the name "anonymous". HTTP requests that break GraphQL over HTTP are not counted.',
    labelNames: ['kind', 'name', 'outcome'],
  })
  const ofKind = (kind: OperationKind) => ({
    ok: add((name) => ({ kind, name, outcome: 'ok' })),
    errors: add((name) => ({ kind, name, outcome: 'errors' })),
    refused: add((name) => ({ kind, name, outcome: 'refused' })),
  })
  return byKind(ofKind)
}

function addCostMetric(registry: Registry): Record<OperationKind, Sums> {
  const add = addCounter(registry, {
    name: 'tidemark_gateway_operation_cost_total',
    help: 'Cost of prepared operations with their variables, in points, by kind and name. This includes operations that are refused afterwards, for example by a rate limit.',
    labelNames: ['kind', 'name'],
  })
  return byKind((kind) => add((name) => ({ kind, name })))
}

/** Sums by the name of the operation. */
type Sums = Map<string, number>

function addTo(sums: Sums, name: string, amount: number): void {
  sums.set(name, (sums.get(name) ?? 0) + amount)
}

function byKind<Value>(make: (kind: OperationKind) => Value): Record<OperationKind, Value> {
  return { query: make('query'), mutation: make('mutation'), subscription: make('subscription'), unknown: make('unknown') }
}

type LabelsOf = (name: string) => Record<string, string>

/**
 * Makes a counter with the label `name` and other labels. The returned function makes the sums for one set of the other labels. The sums stay
 * plain numbers until a scrape, because incrementing a labelled counter costs microseconds per request.
 */
function addCounter(registry: Registry, config: { name: string; help: string; labelNames: string[] }): (labelsOf: LabelsOf) => Sums {
  const all: { labelsOf: LabelsOf; sums: Sums }[] = []
  new Counter({
    ...config,
    registers: [registry],
    collect() {
      this.reset()
      for (const { labelsOf, sums } of all) for (const [name, sum] of sums) this.inc(labelsOf(name), sum)
    },
  })
  return (labelsOf) => {
    const sums: Sums = new Map()
    all.push({ labelsOf, sums })
    return sums
  }
}

function addOpenMetrics(registry: Registry, open: Pick<OpenLimits, 'figures'>): void {
  const registers = [registry]
  new Gauge({
    name: 'tidemark_gateway_connections_open',
    help: 'Open WebSockets and event streams, as limits.openConnections counts them.',
    registers,
    collect() {
      this.set(open.figures().connections)
    },
  })
  new Gauge({
    name: 'tidemark_gateway_open_cost',
    help: 'Cost of open subscriptions in points, as limits.openCost counts it.',
    registers,
    collect() {
      this.set(open.figures().cost)
    },
  })
  new Counter({
    name: 'tidemark_gateway_open_refused_total',
    help: 'Connections and subscriptions that limits.openConnections and limits.openCost refused.',
    registers,
    collect() {
      this.reset()
      this.inc(open.figures().refused)
    },
  })
}
