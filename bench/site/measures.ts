/** The figures of a held rate. */
import { availableParallelism } from 'node:os'
import { DEFAULT_DEMAND } from '../../cli/plan/demand.ts'
import { estimate } from '../../cli/plan/estimate.ts'
import { makeConfig } from '../../config/config.ts'
import { rateOfMachines } from '../../harness/planning/more-machines.ts'
import { quantileOf } from '../support/quantile.ts'
import type { Measure } from '../support/report.ts'
import type { Acknowledged } from './ledger.ts'
import type { LiveReply } from './live-process.ts'
import { countsOf, KIND_NAMES } from './operations.ts'
import { measuredFrom } from './paper.ts'
import { popularShare, type SiteSize } from './population.ts'
import type { Run } from './run.ts'

/** Published figures of very large sites, a second. */
const LARGE_SITE = { lookups: 300_000, writes: 15_000 }
const MACHINES = [2, 4, 8]
const VIEWERS = 1_000_000
const ascending = (values: readonly number[]): number[] => values.toSorted((a, b) => a - b)

/** Answered calls count, by their real number. */
export function rateMeasures({ answered, seconds }: Run): Measure[] {
  const byKind = Map.groupBy(answered, ({ kind }) => kind)
  const sums = countsOf((name) => byKind.get(name)?.length ?? 0)
  const lookups = sums.states + sums.candidates + sums.heads
  const rate = (metric: string, count: number, unit = 'per second'): Measure => ({ metric, value: count / seconds, unit })
  const late = ascending(answered.map(({ lateMs }) => lateMs))
  return [
    rate('calls', answered.length),
    rate('lookups', lookups, `per second, beside ${LARGE_SITE.lookups} of very large sites`),
    rate('of these, states of subjects', sums.states),
    rate('of these, candidates of unseen', sums.candidates),
    rate('of these, heads of home feeds', sums.heads),
    rate('writes', sums.writes, `per second, beside ${LARGE_SITE.writes} of very large sites`),
    { metric: 'machines for the lookups of states of such a site', value: LARGE_SITE.lookups / (sums.states / seconds), unit: '' },
    { metric: 'machines for its writes', value: LARGE_SITE.writes / (sums.writes / seconds), unit: '' },
    ...KIND_NAMES.flatMap((name): Measure[] => {
      const ms = ascending((byKind.get(name) ?? []).map((each) => each.ms))
      if (ms.length === 0) return []
      return [
        { metric: `${name}: p50`, value: quantileOf(ms, 0.5), unit: `ms of ${ms.length} calls` },
        { metric: `${name}: p99`, value: quantileOf(ms, 0.99), unit: 'ms' },
      ]
    }),
    { metric: 'requests left late by, p99', value: quantileOf(late, 0.99), unit: 'ms, counted in their latency' },
  ]
}

/** `last`: after quiet. The last update of each followed watcher must be the last acknowledged report. */
export function liveMeasures(
  { before, after }: { before: LiveReply; after: LiveReply },
  last: LiveReply,
  { positions }: Acknowledged,
  { seconds }: Run,
): Measure[] {
  const updates = (['progress', 'counts', 'home'] as const).map((kind) => after.updates[kind] - before.updates[kind])
  const ms = ascending(after.progressMs)
  const reported = last.followed.flatMap((viewer) => {
    // A watcher does not come back to an earlier video, so the newest key is the current one.
    const [id, position] = [...(positions.get(viewer) ?? [])].at(-1) ?? []
    return position === undefined ? [] : [{ viewer, id, position }]
  })
  const missed = reported.filter(({ viewer, id, position }) => {
    const update = last.last.get(viewer)
    return update?.id !== id || update?.position !== position
  })
  const atMost = true
  return [
    {
      metric: 'live updates of progress, counts and home feeds',
      value: updates.reduce((sum, each) => sum + each) / seconds,
      unit: `per second: ${updates.join(' + ')} in ${seconds} s`,
    },
    { metric: 'live update of progress after its report, p50', value: quantileOf(ms, 0.5), unit: `ms of ${ms.length}` },
    { metric: 'live update of progress after its report, p99', value: quantileOf(ms, 0.99), unit: 'ms' },
    { metric: 'live: watchers without their last report', value: missed.length, unit: `of ${reported.length}`, target: 0, atMost },
    { metric: 'live: errors and closed sockets', value: last.failures.length, unit: '', target: 0, atMost },
  ]
}

export function spentMeasures({ spent, answered }: Run): Measure[] {
  const all = spent.seconds * availableParallelism()
  const share = (name: string, seconds: number): Measure => ({
    metric: `CPU: ${name}`,
    value: (100 * seconds) / all,
    unit: `% of the machine, ${Math.round((seconds * 1e6) / answered.length)} µs per call`,
  })
  const busiest = [...spent.threads].toSorted((a, b) => b[1] - a[1])
  return [
    ...Array.from(spent.parts, ([name, seconds]) => share(name, seconds)),
    share('everything else on the machine', spent.others),
    share('idle', spent.idle),
    ...busiest.slice(0, 3).map(([name, seconds]): Measure => ({
      metric: `busy: the first thread of ${name}`,
      value: (100 * seconds) / spent.seconds,
      unit: '% of one core',
    })),
  ]
}

/** More machines on paper, beside `tidemark plan` for the writes and lookups of states of the same rate. */
export function paperMeasures({ spent, answered }: Run, size: SiteSize): Measure[] {
  const measured = (isCluster: boolean) => measuredFrom(spent, answered.length, popularShare(size), { isCluster })
  const { perCall, parts, busyMax } = measured(false)
  const byKind = Map.groupBy(answered, ({ kind }) => kind)
  const sums = countsOf((name) => (byKind.get(name)?.length ?? 0) / answered.length)
  return [
    { metric: 'on paper: CPU of a call', value: perCall * 1e6, unit: 'µs' },
    ...parts.map((part): Measure => ({
      metric: `on paper: ${part.name}, on one machine`,
      value: (part.count(1) * busyMax) / part.perCall,
      unit: `calls per second at ${Math.round(100 * busyMax)}% of a core`,
    })),
    ...MACHINES.flatMap((machines) =>
      [false, true].map((isCluster): Measure => {
        const { calls, limit } = rateOfMachines(machines, measured(isCluster))
        const [states, writes] = [sums.states * calls, sums.writes * calls]
        return {
          metric: `on paper: ${machines} machines, ${isCluster ? 'each with a node of Redis' : 'one Redis'}`,
          value: calls,
          unit: `calls per second: ${Math.round(states)} lookups of states, ${Math.round(writes)} writes; limit: ${limit}; tidemark plan: ${plannedCores(states, writes)} cores`,
        }
      }),
    ),
  ]
}

function plannedCores(lookupsPerSecond: number, reportsPerSecond: number): number {
  const counts = { viewers: VIEWERS, actives: VIEWERS, likesStored: VIEWERS, subjects: VIEWERS }
  const demand = { ...DEFAULT_DEMAND, ...counts, lookupsPerSecond, reportsPerSecond }
  return estimate(demand, makeConfig([]), { core: 0, memoryGb: 0, diskGb: 0 }).cost.cores
}
