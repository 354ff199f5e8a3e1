/**
 * The durations of the commands of a Redis, by its own clock (`INFO latencystats`). They include pauses of the machine: on shared cores, the
 * longest command is often one that lost its core.
 */
import { Redis } from 'ioredis'
import type { Measure } from '../support/report.ts'

const COMMAND_MAX_MS = 1
/** Of this connection, of background jobs, and of new connections. */
const NOT_MEASURED = /^(config|info|client|command|hello|ping|select|auth)\b/

/** Begins now. */
export async function watchCommands(url: string) {
  const admin = new Redis(url)
  await admin.config('SET', 'latency-tracking-info-percentiles', '50 99.9 100')
  await admin.config('RESETSTAT')

  return {
    /** Ends watching. One row of each command's figures, and the longest of all. */
    async measures(name: string): Promise<Measure[]> {
      const stats = await admin.info('latencystats')
      admin.disconnect()
      const line = /latency_percentiles_usec_([^:]+):p50=([\d.]+),p99\.9=([\d.]+),p100=([\d.]+)/g
      const commands = Array.from(stats.matchAll(line), ([, command = '', ...us]) => {
        const [p50 = NaN, p999 = NaN, longest = NaN] = us.map((each) => Number(each) / 1_000)
        return { command, p50, p999, longest }
      }).filter(({ command }) => !NOT_MEASURED.test(command))
      const slowest = commands.toSorted((a, b) => b.p999 - a.p999)[0]
      if (slowest === undefined) throw new Error('no command was measured')
      const longest = Math.max(...commands.map((each) => each.longest))
      return [
        { metric: `${name}: slowest command of Redis (${slowest.command}), p50`, value: slowest.p50, unit: 'ms' },
        { metric: `${name}: the same, p99.9`, value: slowest.p999, unit: 'ms', target: COMMAND_MAX_MS, atMost: true },
        { metric: `${name}: longest command of Redis, pauses of the machine included`, value: longest, unit: 'ms' },
      ]
    },
  }
}
