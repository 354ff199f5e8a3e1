/**
 * How close is `tidemark plan` to a deployment? A small site runs on real servers, and its messages, rows, statements, memory, disk and CPU are
 * compared with the plan for the measured rate of reports. It also prints the unit costs that the planner computes with (cli/plan/figures.ts).
 *
 *     npm run bench -- plan [--quick] [--json]
 */
import { join } from 'node:path'
import { runningPid } from '../../scripts/servers/processes.ts'
import { logBytes, redisBytes } from '../../cli/plan/estimate.ts'
import { FIGURES } from '../../cli/plan/figures.ts'
import { flowOf } from '../../cli/plan/flow.ts'
import { startSmallSite, type Load, type RunningSite } from '../../harness/planning/small-site.ts'
import { cpuSeconds } from '../support/cpu.ts'
import { runLoad } from '../support/load.ts'
import type { BenchOptions, Measure } from '../support/report.ts'

const SITE = { viewers: 600, recordsEach: 50, windowMs: 3_000 }
const QUICK = { viewers: 300, recordsEach: 50, windowMs: 1_000 }
const CONNECTIONS = 16
const SUBJECTS = 50
const FIELDS = 3
const TOLERANCE = 1.25

const load: Load = (url, headers, body, seconds) =>
  runLoad({ url, connections: CONNECTIONS, durationMs: seconds * 1_000, headers, body, check: checkAnswer })

function checkAnswer(body: string): void {
  if (body.includes('"errors"') || body.includes('REJECTED')) throw new Error(`a call failed: ${body.slice(0, 300)}`)
}

export async function bench({ quick, progress }: BenchOptions): Promise<Measure[]> {
  const size = quick ? QUICK : SITE
  progress('starting the servers, and filling them')
  const site = await startSmallSite(size, load)
  try {
    const pids = pidsOf(site)
    const stored = await site.used()
    progress('reports')
    const before = cpuOf(pids)
    const { reports, seconds, flowed } = await site.report(quick ? 8 : 30)
    const written = cpuOf(pids)
    const used = await site.used()
    progress('pages')
    const { pages } = await site.read(quick ? 4 : 15, SUBJECTS)
    const read = cpuOf(pids)

    const records = size.viewers * size.recordsEach
    const flow = flowOf({ reports: reports / seconds, watching: records }, 1, site.deployment.config)
    const demand = { viewers: size.viewers, records: size.recordsEach, likesStored: 0, subjects: 0 }
    const planned = redisBytes(demand, site.deployment.config)
    const us = (name: keyof Cpu, from: Cpu, to: Cpu, count: number) => ((to[name] - from[name]) * 1e6) / count
    const lookups = pages * SUBJECTS * FIELDS
    const compared = (metric: string, predicted: number, measured: number): Measure[] => [
      { metric: `${metric}: planned`, value: predicted, unit: '' },
      { metric: `${metric}: measured`, value: measured, unit: '' },
      { metric: `${metric}: the larger : the smaller`, value: ratio(predicted, measured), unit: 'ratio', target: TOLERANCE, atMost: true },
    ]
    return [
      { metric: 'reports', value: reports / seconds, unit: 'per second' },
      ...compared('log messages', flow.messagesPerSecond * seconds, flowed.messages),
      ...compared('rows', flow.rowsPerSecond * seconds, flowed.rows),
      { metric: 'statements: planned at most', value: flow.statementsPerSecond * seconds, unit: '' },
      { metric: 'statements: measured', value: flowed.statements, unit: '', target: flow.statementsPerSecond * seconds, atMost: true },
      ...compared('bytes of Redis', planned, stored.redisBytes - site.empty.redisBytes),
      ...compared('bytes of MariaDB', records * FIGURES.mysqlBytesPerRecord.value, stored.mysqlBytes),
      ...compared('CPU of the gateway per report', FIGURES.gatewayPerReport.value, us('gateway', before, written, reports)),
      ...compared('CPU of the gateway per lookup', FIGURES.gatewayPerLookup.value, us('gateway', written, read, lookups)),
      ...compared('CPU of the job per row', FIGURES.jobPerRow.value, us('job', before, written, flowed.rows)),
      ...compared('CPU of Redis per report', FIGURES.redisPerReport.value, us('redis', before, written, reports)),
      ...compared('CPU of Redis per lookup', FIGURES.redisPerLookup.value, us('redis', written, read, lookups)),
      ...compared('CPU of MariaDB per row', FIGURES.mysqlPerRow.value, us('mariadb', before, written, flowed.rows)),
      {
        metric: 'bytes of the log',
        value: used.kafkaBytes - stored.kafkaBytes,
        unit: '',
        target: logBytes(flowed.messages, flowed.keys),
        atMost: true,
      },
    ]
  } finally {
    await site.remove()
  }
}

type Cpu = Record<'gateway' | 'job' | 'redis' | 'mariadb', number>

function pidsOf({ deployment: { gateways, jobs, servers } }: RunningSite): Cpu {
  const server = (name: string) => runningPid(join(servers.folder, name)) as number
  return {
    gateway: gateways[0]?.pid() as number,
    job: jobs[0]?.pid() as number,
    redis: server('redis'),
    mariadb: server('mariadb'),
  }
}

function cpuOf(pids: Cpu): Cpu {
  return Object.fromEntries(Object.entries(pids).map(([name, pid]) => [name, cpuSeconds(pid)])) as Cpu
}

function ratio(one: number, other: number): number {
  return Math.max(one, other) / Math.min(one, other)
}
