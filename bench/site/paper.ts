/**
 * More machines, on paper: the rate of calls that m machines like this one hold, from the CPU time that a call took on this one.
 *
 *     rate(m) = the least of m · B / c, and n · b / c_part for each serial part
 *
 * - B: the cores of this machine that were busy at its rate, with the load generator, the live clients and all others. On paper those run
 *   elsewhere.
 * - c: CPU seconds of a call in all processes of the site. c_part: those in a part that cannot use a second core.
 * - b: how busy a serial part may be: as busy as the busiest thread was here, at least the assumption of `tidemark plan`.
 * - n: how many of the part there are. Each machine has one gateway and one of each job, as here. Servers are one of each, or one node of a
 *   Redis Cluster per machine.
 *
 * The formula has no network between machines, no replicas and no uneven regions.
 */
import { availableParallelism } from 'node:os'
import { ASSUMED } from '../../cli/plan/estimate.ts'
import { FIGURES } from '../../cli/plan/figures.ts'
import { shareOf } from './operations.ts'
import type { Spent } from './spent.ts'

export type SerialPart = {
  name: string
  /** CPU seconds of one core per call. */
  perCall: number
  /** How many share the work on this many machines. */
  count(machines: number): number
}

export type Paper = {
  /** CPU seconds of a call. */
  perCall: number
  parts: readonly SerialPart[]
  /** How busy a serial part may be. */
  busyMax: number
  /** `limit`: the part that is full first. `isCluster`: each machine has a node of Redis. */
  rateOf(machines: number, isCluster: boolean): { calls: number; limit: string }
}

/** Not on the machines of the site. */
const OUTSIDE = new Set(['load generator', 'live clients'])
const REDIS = 'the command thread of Redis'
/** The default of `stores.kafka.partitions`. A partition has one job and one leader at a time. */
const PARTITIONS = 12

/** `calls`: in the time of `spent`. `popular`: the part of all likes that the most liked video gets. */
export function makePaper(spent: Spent, calls: number, popular: number): Paper {
  const ofThread = (name: string): number => (spent.threads.get(name) ?? 0) / calls
  const ofPart = (name: string): number => (spent.parts.get(name) ?? 0) / calls
  const job = (name: string): SerialPart => ({
    ...{ name: `the thread of each ${name}`, perCall: ofThread(name) },
    count: (machines) => Math.min(machines, PARTITIONS),
  })
  const parts: SerialPart[] = [
    { name: 'the event loop of each gateway', perCall: ofThread('gateway'), count: (machines) => machines },
    { name: REDIS, perCall: ofThread('redis'), count: () => 1 },
    ...['job history', 'job thumbup', 'job feed-existence', 'job feed'].map(job),
    { name: `the leaders of ${PARTITIONS} partitions in Kafka`, perCall: ofPart('kafka'), count: () => PARTITIONS },
    { name: 'a replica of MariaDB that applies in one thread', perCall: ofPart('mariadb'), count: () => 1 },
    {
      name: 'the likes of the most liked video, in one slot of Redis',
      perCall: (shareOf('like') * popular * FIGURES.redisPerReport.value) / 1e6,
      count: () => 1,
    },
  ]
  const inside = Array.from(spent.parts).filter(([name]) => !OUTSIDE.has(name))
  const perCall = inside.reduce((sum, [, used]) => sum + used, 0) / calls
  const busyMax = Math.max(ASSUMED.busyMax, ...Array.from(spent.threads.values(), (used) => used / spent.seconds))
  const busyCores = availableParallelism() - spent.idle / spent.seconds
  return {
    perCall,
    parts,
    busyMax,
    rateOf(machines, isCluster) {
      const limits = parts.map((part) => {
        const count = isCluster && part.name === REDIS ? machines : part.count(machines)
        return { calls: (count * busyMax) / part.perCall, limit: part.name }
      })
      return limits.reduce((least, each) => (each.calls < least.calls ? each : least), {
        calls: (machines * busyCores) / perCall,
        limit: 'the cores',
      })
    },
  }
}
