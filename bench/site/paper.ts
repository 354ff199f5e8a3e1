/**
 * The measurement as input of the formula for more machines (harness/planning/more-machines.ts).
 *
 * - Cores may be as busy as they were here, with the load generator, the live clients and all others. On paper those run elsewhere.
 * - A serial part may be as busy as the busiest thread was here, and at least as busy as `tidemark plan` assumes.
 * - Each machine has a gateway per core and one of each job, as here. Servers are one of each, or one node of a Redis Cluster per machine.
 */
import { availableParallelism } from 'node:os'
import { ASSUMED } from '../../cli/plan/estimate.ts'
import { FIGURES } from '../../cli/plan/figures.ts'
import type { Measured, SerialPart } from '../../harness/planning/more-machines.ts'
import { shareOf } from './operations.ts'
import type { Spent } from './spent.ts'

/** Not on the machines of the site. */
const OUTSIDE = new Set(['load generator', 'live clients'])
/** The default of `stores.kafka.partitions`. A partition has one job and one leader at a time. */
const PARTITIONS = 12

/** `calls`: in the time of `spent`. `popular`: the part of all likes that the most liked video gets. */
export function measuredFrom(spent: Spent, calls: number, popular: number, { isCluster }: { isCluster: boolean }): Measured {
  const ofThread = (name: string): number => (spent.threads.get(name) ?? 0) / calls
  const ofPart = (name: string): number => (spent.parts.get(name) ?? 0) / calls
  const cores = availableParallelism()
  const job = (name: string): SerialPart => ({
    ...{ name: `the thread of each ${name}`, perCall: ofThread(name) },
    count: (machines) => Math.min(machines, PARTITIONS),
  })
  const inside = Array.from(spent.parts).filter(([name]) => !OUTSIDE.has(name))
  return {
    perCall: inside.reduce((sum, [, used]) => sum + used, 0) / calls,
    busyCores: cores - spent.idle / spent.seconds,
    busyMax: Math.max(ASSUMED.busyMax, ...Array.from(spent.threads.values(), (used) => used / spent.seconds)),
    parts: [
      { name: 'the event loop of each gateway', perCall: ofThread('gateways') * cores, count: (machines) => machines * cores },
      { name: 'the command thread of Redis', perCall: ofThread('redis'), count: (machines) => (isCluster ? machines : 1) },
      ...['job history', 'job thumbup', 'job feed-existence', 'job feed'].map(job),
      { name: `the leaders of ${PARTITIONS} partitions in Kafka`, perCall: ofPart('kafka'), count: () => PARTITIONS },
      { name: 'a replica of MariaDB that applies in one thread', perCall: ofPart('mariadb'), count: () => 1 },
      {
        name: 'the likes of the most liked video, in one slot of Redis',
        perCall: (shareOf('like') * popular * FIGURES.redisPerReport.value) / 1e6,
        count: () => 1,
      },
    ],
  }
}
