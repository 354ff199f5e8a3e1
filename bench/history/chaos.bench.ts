/**
 * Does the distributed shape lose acknowledged writes under kills and network cuts? The run has 200 kills (6 with --quick) of gateways,
 * jobs, Redis, Kafka and MariaDB, and 50 network cuts (3) of 0.5 to 5 s. They happen at random moments, two at a time, under load. After
 * the load ends, every acknowledged write is looked up through the API and in the record store.
 *
 *     npm run bench -- chaos [--quick] [--json]
 */
import { CONVERGED_MAX_MS, runChaos } from '../../harness/chaos/history/chaos.ts'
import type { BenchOptions, Measure } from '../support/report.ts'

export async function bench({ quick, progress }: BenchOptions): Promise<Measure[]> {
  const report = await runChaos({
    kills: quick ? 6 : 200,
    cuts: quick ? 3 : 50,
    seed: Date.now() % 1_000_000,
    atOnce: quick ? 3 : 2,
    pauseMaxMs: quick ? 500 : 1_000,
    deadMaxMs: quick ? 500 : 1_500,
    cutMaxMs: quick ? 2_000 : 5_000,
    viewers: 60,
    progress,
  })
  const { faults, tally, verification, wrong, deaths } = report
  for (const sentence of [...verification.losses, ...wrong, ...deaths].slice(0, 50)) progress(sentence)
  for (const [what, count] of Object.entries(tally.errors())) progress(`error, ${count} times: ${what}`)
  for (const [what, count] of Object.entries(tally.errorsOfTwo())) progress(`error with two stores out of order, ${count} times: ${what}`)
  return [
    ...Object.entries(faults.kills).map(([name, value]) => ({ metric: `kills: ${name}`, value, unit: '' })),
    ...Object.entries(faults.cuts).map(([name, value]) => ({ metric: `cuts: ${name}`, value, unit: '' })),
    { metric: 'reports acknowledged', value: report.acknowledged, unit: '' },
    { metric: 'calls', value: tally.calls(), unit: '' },
    { metric: 'calls whose process was killed', value: tally.excused(), unit: '' },
    { metric: 'slowest answer', value: tally.slowestMs(), unit: 'ms' },
    { metric: 'lost, stale or torn', value: verification.losses.length, unit: '', target: 0, atMost: true },
    { metric: 'wrong answers meanwhile', value: wrong.length, unit: '', target: 0, atMost: true },
    { metric: 'errors with at most one store out of order', value: tally.errorCount(), unit: '', target: 0, atMost: true },
    { metric: 'errors with several out of order', value: sumOf(tally.errorsOfTwo()), unit: '' },
    { metric: 'processes that ended by themselves', value: deaths.length, unit: '', target: 0, atMost: true },
    { metric: 'rows of the record store : keys written', value: verification.rows / verification.expectedRows, unit: 'ratio', target: 1 },
    { metric: 'quiet until everything is in place', value: report.convergedMs, unit: 'ms', target: CONVERGED_MAX_MS, atMost: true },
  ]
}

function sumOf(counts: Record<string, number>): number {
  return Object.values(counts).reduce((sum, count) => sum + count, 0)
}
