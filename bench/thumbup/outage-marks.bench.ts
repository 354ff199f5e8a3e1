/**
 * How do clients notice each disaster? Redis, both Redis, Kafka, MariaDB, Redis and MariaDB, and the job are down for 30 s (3 to 7 with
 * --quick) under load. Every call must be answered without error, and concurrent reads must not exceed the gateway's connections.
 * Afterwards every mark must be stored and counted once.
 *
 *     npm run bench -- outage-marks [--quick] [--json]
 */
import { DISASTERS, READS_AT_ONCE_MAX, describeDisaster, runDisaster, startStage } from '../../harness/chaos/thumbup/disasters.ts'
import type { BenchOptions, Measure } from '../support/report.ts'

export async function bench({ quick, progress }: BenchOptions): Promise<Measure[]> {
  progress('starting two Redis, Kafka, MariaDB, a gateway and a job')
  const stage = await startStage()
  try {
    const measures: Measure[] = []
    for (const [at, disaster] of DISASTERS.entries()) {
      const downMs = quick ? disaster.shortMs : 30_000
      const figures = await runDisaster(stage, disaster, { seed: 700 + 10 * at, beforeMs: quick ? 1_000 : 5_000, downMs }, progress)
      progress(describeDisaster(disaster, figures))
      const { losses, drift, cache, gaps } = figures.verification
      const bad = [...losses, ...drift, ...cache, ...gaps, ...figures.wrong]
      for (const sentence of bad.slice(0, 20)) progress(sentence)
      for (const [what, count] of Object.entries(figures.errors)) progress(`error, ${count} times: ${what}`)
      const { title } = disaster
      measures.push(
        { metric: `${title}: calls`, value: figures.calls, unit: '' },
        { metric: `${title}: answered`, value: (100 * figures.answered) / figures.calls, unit: '%', target: 100 },
        { metric: `${title}: p50 meanwhile`, value: figures.p50Ms, unit: 'ms' },
        { metric: `${title}: p99 meanwhile`, value: figures.p99Ms, unit: 'ms' },
        { metric: `${title}: counts that were null`, value: (100 * figures.counts.missing) / Math.max(1, figures.counts.asked), unit: '%' },
        { metric: `${title}: database statements before`, value: figures.queriesBefore, unit: '/s' },
        ...(figures.queriesMeanwhile === undefined
          ? []
          : [
              {
                metric: `${title}: database statements meanwhile`,
                value: figures.queriesMeanwhile,
                unit: '/s',
              },
              {
                metric: `${title}: reads of the record store at once`,
                value: figures.readsAtOnce,
                unit: '',
                target: READS_AT_ONCE_MAX,
                atMost: true,
              },
            ]),
        { metric: `${title}: lost, stale, counted wrongly, or never told`, value: bad.length, unit: '', target: 0, atMost: true },
        { metric: `${title}: quiet until all is in place`, value: figures.convergedMs, unit: 'ms' },
      )
    }
    return measures
  } finally {
    await stage.remove()
  }
}
