/**
 * The same pages from several services in turn: one request in flight (the latency of a page), then as many as keep the service busy, then
 * an open-loop load at half of that rate, without a target. Under load, a latency contains time in the queue of one process on a shared
 * machine. CPU time is that of the service's process and of its servers, from /proc.
 */
import { seededRandom } from '../../core/random.ts'
import type { ViewerId } from '../../core/domain.ts'
import { makeZipf } from '../../harness/samples/zipf.ts'
import { cpuSeconds } from '../support/cpu.ts'
import { runLoad, type LoadReport } from '../support/load.ts'
import { quantileOf } from '../support/quantile.ts'
import type { Measure } from '../support/report.ts'
import { runOpenLoop, type Timed } from '../support/open-loop.ts'

/** Requests in flight at the full load. */
export const FULL = 4

export type PageService = {
  name: string
  url: string
  /** The body of each request. The viewer is in the header `x-viewer-id`. */
  body: Buffer
  /** The process that answers. */
  pid: number
  /** The processes of its servers. */
  servers: readonly number[]
  /** Throws if the answer is not a whole page. */
  check(answer: string): void
  /** ms: target of the p99 of a page, one in flight and at the full load. Only services with a target have an open-loop load. */
  p99MaxMs?: number
}

type Full = LoadReport & { serviceMs: number; serversMs: number }
type Steady = { perSecond: number; requests: number; p50Ms: number; p99Ms: number }
export type PageRounds = { low: LoadReport[]; full: Full[]; steady: Steady[] }

export type PageLoad = { rounds: number; seconds: number }

/** Viewers ask by Zipf's law. */
export function makePageLoad(viewers: readonly ViewerId[]) {
  const draw = makeZipf(seededRandom(3), viewers.length, 0.9)
  const random = seededRandom(5)

  async function load({ url, body, check }: PageService, connections: number, seconds: number): Promise<LoadReport> {
    return runLoad({
      url,
      connections,
      durationMs: seconds * 1_000,
      body: () => body,
      headers: () => ({ 'x-viewer-id': viewers[draw()] as string }),
      check,
    })
  }

  async function full(service: PageService, seconds: number): Promise<Full> {
    const all = (): [number, number] => [cpuSeconds(service.pid), service.servers.reduce((sum, pid) => sum + cpuSeconds(pid), 0)]
    const before = all()
    const report = await load(service, FULL, seconds)
    const after = all()
    const perPage = (at: 0 | 1): number => ((after[at] - before[at]) * 1_000) / report.requests
    return { ...report, serviceMs: perPage(0), serversMs: perPage(1) }
  }

  /** Independent requests: the gaps between them are exponential. Throws if an answer is not a whole page. */
  async function steady({ url, body, check }: PageService, perSecond: number, seconds: number): Promise<Steady> {
    const requests: Timed[] = []
    for (let atMs = 0; atMs < seconds * 1_000; atMs += (-Math.log(1 - random()) * 1_000) / perSecond)
      requests.push({ atMs, viewer: viewers[draw()] as string, body })
    const answered = await runOpenLoop([url], requests, check)
    const failed = answered.find(({ failure }) => failure !== undefined)
    if (failed !== undefined) throw new Error(failed.failure)
    const ms = answered.map((each) => each.ms).toSorted((a, b) => a - b)
    return { perSecond, requests: answered.length, p50Ms: quantileOf(ms, 0.5), p99Ms: quantileOf(ms, 0.99) }
  }

  return {
    load,
    /** Each viewer asks once, and then by Zipf's law. */
    async warmUp(service: PageService, connections: number, seconds: number): Promise<void> {
      const { url, body, check } = service
      const left = [...viewers]
      const headers = () => ({ 'x-viewer-id': left.pop() ?? viewers[draw()] ?? '' })
      const next = () => (left.length > 0 ? body : undefined)
      await runLoad({ url, connections: 1, durationMs: 600_000, body: next, headers, check })
      await load(service, connections, seconds)
    },
    /** All services, in turn. */
    async measure(
      services: readonly PageService[],
      { rounds, seconds }: PageLoad,
      progress: (text: string) => void,
    ): Promise<Map<PageService, PageRounds>> {
      const measured = new Map<PageService, PageRounds>(services.map((service) => [service, { low: [], full: [], steady: [] }]))
      for (let round = 1; round <= rounds; round++) {
        progress(`pages: round ${round} of ${rounds}`)
        for (const [service, { low, full: loaded, steady: even }] of measured) {
          low.push(await load(service, 1, seconds))
          const busy = await full(service, seconds)
          loaded.push(busy)
          if (service.p99MaxMs !== undefined) even.push(await steady(service, busy.perSecond / 2, seconds))
        }
      }
      return measured
    },
  }
}

export function pageMeasures(measured: ReadonlyMap<PageService, PageRounds>): Measure[] {
  return [...measured].flatMap(([{ name, p99MaxMs }, { low, full, steady }]): Measure[] => {
    const target = p99MaxMs === undefined ? {} : { target: p99MaxMs, atMost: true }
    const atHalf: Measure[] = [
      { metric: `${name}: pages, half of that rate, open loop`, value: medianOf(steady, 'perSecond'), unit: 'per second' },
      { metric: `${name}: page p50, half of that rate`, value: medianOf(steady, 'p50Ms'), unit: 'ms' },
      { metric: `${name}: page p99, half of that rate`, value: medianOf(steady, 'p99Ms'), unit: 'ms' },
    ]
    return [
      { metric: `${name}: page p50, one in flight`, value: medianOf(low, 'p50Ms'), unit: 'ms' },
      { metric: `${name}: page p99, one in flight`, value: medianOf(low, 'p99Ms'), unit: 'ms', ...target },
      { metric: `${name}: pages, ${FULL} in flight`, value: medianOf(full, 'perSecond'), unit: 'per second' },
      { metric: `${name}: page p50, ${FULL} in flight`, value: medianOf(full, 'p50Ms'), unit: 'ms' },
      { metric: `${name}: page p99, ${FULL} in flight`, value: medianOf(full, 'p99Ms'), unit: 'ms', ...target },
      ...(steady.length > 0 ? atHalf : []),
      { metric: `${name}: CPU of the service`, value: medianOf(full, 'serviceMs'), unit: 'ms per page' },
      { metric: `${name}: CPU of its servers`, value: medianOf(full, 'serversMs'), unit: 'ms per page' },
    ]
  })
}

/** How many times as good as the peer. Each round is compared with the peer's next one. */
export function ratioMeasures(measured: ReadonlyMap<PageService, PageRounds>, ours: PageService, peer: PageService): Measure[] {
  const [own, other] = [measured.get(ours) as PageRounds, measured.get(peer) as PageRounds]
  const median = (ratio: (own: Full, other: Full) => number): number =>
    middleOf(own.full.map((round, at) => ratio(round, other.full[at] as Full)))
  const cpu = ({ serviceMs, serversMs }: Full): number => serviceMs + serversMs
  return [
    { metric: `${ours.name} : ${peer.name}, pages per second`, value: median((a, b) => a.perSecond / b.perSecond), unit: 'ratio' },
    { metric: `${peer.name} : ${ours.name}, CPU per page`, value: median((a, b) => cpu(b) / cpu(a)), unit: 'ratio' },
    { metric: `${peer.name} : ${ours.name}, page p99`, value: median((a, b) => b.p99Ms / a.p99Ms), unit: 'ratio' },
  ]
}

function medianOf<K extends string>(rounds: readonly Record<K, number>[], figure: K): number {
  return middleOf(rounds.map((round) => round[figure]))
}

function middleOf(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN
}
