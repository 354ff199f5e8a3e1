/**
 * Is every acknowledged mark kept and counted once under kills and network cuts? The run has 100 kills (6 with --quick) of gateways, jobs,
 * Redis, Kafka and MariaDB, and 25 network cuts (3) of 0.5 to 5 s, two at a time. The load is storms of likes and undos, and registrations
 * of owners. After the load ends, states, counts, lists and sums are compared with a recount of the sent marks, counts with rows, and
 * caches with the database. The outgoing events are checked too.
 *
 *     npm run bench -- chaos-marks [--quick] [--json]
 */
import { MARKS_CONVERGED_MAX_MS, runMarkChaos } from '../../harness/chaos/thumbup/chaos.ts'
import type { BenchOptions, Measure } from '../support/report.ts'

export async function bench({ quick, progress }: BenchOptions): Promise<Measure[]> {
  const report = await runMarkChaos({
    kills: quick ? 6 : 100,
    cuts: quick ? 3 : 25,
    seed: Date.now() % 1_000_000,
    atOnce: quick ? 3 : 2,
    pauseMaxMs: quick ? 500 : 1_000,
    deadMaxMs: quick ? 500 : 1_500,
    cutMaxMs: quick ? 2_000 : 5_000,
    viewers: 300,
    progress,
  })
  const { faults, tally, verification, wrong, deaths } = report
  const { losses, drift, cache, gaps } = verification
  for (const sentence of [...losses, ...drift, ...cache, ...gaps, ...wrong, ...deaths].slice(0, 50)) progress(sentence)
  for (const [what, count] of Object.entries(tally.errors())) progress(`error, ${count} times: ${what}`)
  for (const [what, count] of Object.entries(tally.errorsOfTwo())) progress(`error with two stores out of order, ${count} times: ${what}`)
  return [
    ...Object.entries(faults.kills).map(([name, value]) => ({ metric: `kills: ${name}`, value, unit: '' })),
    ...Object.entries(faults.cuts).map(([name, value]) => ({ metric: `cuts: ${name}`, value, unit: '' })),
    { metric: 'marks acknowledged', value: report.acknowledged, unit: '' },
    { metric: 'of distinct viewers and subjects', value: verification.keys, unit: '' },
    { metric: 'of those in the archive afterwards', value: verification.archived, unit: '' },
    { metric: 'calls', value: tally.calls(), unit: '' },
    { metric: 'calls whose process was killed', value: tally.excused(), unit: '' },
    { metric: 'slowest answer', value: tally.slowestMs(), unit: 'ms' },
    {
      metric: 'marks lost or stale, states, counts, lists and sums that are wrong',
      value: losses.length,
      unit: '',
      target: 0,
      atMost: true,
    },
    { metric: 'wrong answers meanwhile', value: wrong.length, unit: '', target: 0, atMost: true },
    { metric: 'subjects and owners recounted', value: verification.recounted, unit: '' },
    { metric: 'drift', value: drift.length, unit: '', target: 0, atMost: true },
    { metric: 'cached counts that differ from the database', value: cache.length, unit: '', target: 0, atMost: true },
    { metric: 'transitions told', value: verification.events, unit: '' },
    { metric: 'events told again', value: verification.repeatedEvents, unit: '' },
    { metric: 'transitions and versions of counts never told', value: gaps.length, unit: '', target: 0, atMost: true },
    { metric: 'errors with at most one store out of order', value: tally.errorCount(), unit: '', target: 0, atMost: true },
    {
      metric: 'errors with several out of order',
      value: Object.values(tally.errorsOfTwo()).reduce((sum, count) => sum + count, 0),
      unit: '',
    },
    { metric: 'registrations refused while the record store was down', value: report.refusedRegistrations, unit: '' },
    { metric: 'processes that ended by themselves', value: deaths.length, unit: '', target: 0, atMost: true },
    { metric: 'quiet until everything is in place', value: report.convergedMs, unit: 'ms', target: MARKS_CONVERGED_MAX_MS, atMost: true },
  ]
}
