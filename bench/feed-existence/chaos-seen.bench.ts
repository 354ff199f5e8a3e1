/**
 * Does an acknowledged play stay hidden under kills and network cuts? The run has 100 kills (6 with --quick) of gateways, workers, Redis,
 * Kafka and MariaDB, and 25 network cuts (3) of 0.5 to 5 s, two at a time. Meanwhile viewers play, are served and ask for more, through the
 * API, the log and a server with a clock hours behind. At the same time a command migrates the viewers' old sets from a legacy Redis. It is
 * killed ten times (3). After the load ends, every play is looked up in `unseen`, in `seen`, in staging and in the filters.
 *
 *     npm run bench -- chaos-seen [--quick] [--json]
 */
import { SEEN_CONVERGED_MAX_MS, runSeenChaos } from '../../harness/chaos/feed-existence/chaos.ts'
import type { BenchOptions, Measure } from '../support/report.ts'

export async function bench({ quick, progress }: BenchOptions): Promise<Measure[]> {
  const report = await runSeenChaos({
    kills: quick ? 6 : 100,
    cuts: quick ? 3 : 25,
    seed: Date.now() % 1_000_000,
    atOnce: quick ? 3 : 2,
    pauseMaxMs: quick ? 500 : 1_000,
    deadMaxMs: quick ? 500 : 1_500,
    cutMaxMs: quick ? 2_000 : 5_000,
    viewers: 60,
    commandKills: quick ? 3 : 10,
    progress,
  })
  const { faults, tally, verification, migration, wrong, deaths } = report
  for (const sentence of [...deaths, ...verification.losses, ...migration.mistakes, ...wrong].slice(0, 50)) progress(sentence)
  for (const [what, count] of Object.entries(tally.errors())) progress(`error, ${count} times: ${what}`)
  for (const [what, count] of Object.entries(tally.errorsOfTwo())) progress(`error with two stores out of order, ${count} times: ${what}`)
  return [
    ...Object.entries(faults.kills).map(([name, value]) => ({ metric: `kills: ${name}`, value, unit: '' })),
    ...Object.entries(faults.cuts).map(([name, value]) => ({ metric: `cuts: ${name}`, value, unit: '' })),
    ...Object.entries(report.acknowledged).map(([way, value]) => ({ metric: `plays acknowledged: ${way}`, value, unit: '' })),
    { metric: 'distinct plays looked for', value: verification.plays, unit: '' },
    { metric: 'filters', value: verification.filters, unit: '' },
    { metric: 'records in filters', value: verification.records, unit: '' },
    { metric: 'still staged, in the hour that runs', value: verification.staged, unit: '' },
    { metric: 'calls', value: tally.calls(), unit: '' },
    { metric: 'calls whose process was killed', value: tally.excused(), unit: '' },
    { metric: 'slowest answer', value: tally.slowestMs(), unit: 'ms' },
    none('plays lost', verification.losses.length),
    { metric: 'kills: migrate-played', value: migration.kills, unit: '' },
    { metric: 'plays in legacy sets', value: migration.plays, unit: '' },
    none('mistakes of the migration', migration.mistakes.length),
    ...(migration.notBack === undefined ? [] : [none('folded plays that the legacy store does not have', migration.notBack)]),
    none('wrong answers meanwhile', wrong.length),
    { metric: 'ids nobody has played, asked for', value: report.strange, unit: '' },
    {
      metric: 'of these hidden',
      value: report.strange === 0 ? 0 : (100 * report.strangeHidden) / report.strange,
      unit: '%',
      target: 1,
      atMost: true,
    },
    none('errors with at most one store out of order', tally.errorCount()),
    {
      metric: 'errors with several out of order',
      value: Object.values(tally.errorsOfTwo()).reduce((sum, count) => sum + count, 0),
      unit: '',
    },
    none('processes that ended by themselves', deaths.length),
    { metric: 'quiet until the log is empty', value: report.convergedMs, unit: 'ms', target: SEEN_CONVERGED_MAX_MS, atMost: true },
    {
      metric: 'from the start of the workers until slots at rest are empty',
      value: report.foldedMs,
      unit: 'ms',
      target: SEEN_CONVERGED_MAX_MS,
      atMost: true,
    },
  ]
}

function none(metric: string, value: number): Measure {
  return { metric, value, unit: '', target: 0, atMost: true }
}
