/**
 * Does a watched subject come back during half a year of recorded plays with a failing worker, across the ends of hours, months and the
 * year? Does it come back after its live months? Which share of new subjects is hidden? And how many filters are written per play? Runs
 * on embedded stores, with the clock as a parameter. `harness/half-year/plan.ts` spreads the rows, and `harness/half-year/replay.ts` sends
 * the requests.
 *
 *     npm run bench -- half-year [--quick] [--json] [--file interactions.tsv.gz]
 *
 * Without --file the rows are a sample of the same form. A missed target is a play that came back.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readInteractions } from '../../cli/replay/interactions.ts'
import type { Row } from '../../harness/half-year/plan.ts'
import { replayHalfYear } from '../../harness/half-year/replay.ts'
import type { BenchOptions, Measure } from '../support/report.ts'
import { sampleRows } from '../../harness/samples/sample-file.ts'

const QUICK_ROWS = 2_000
const ROWS = 30_000
const PROBES = 10_000_000
const QUICK_PROBES = 300_000

export async function bench({ quick, file, progress }: BenchOptions): Promise<Measure[]> {
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-half-year-'))
  try {
    const rows = file === undefined ? [...sampleRows(quick ? QUICK_ROWS : ROWS)] : await readRows(file, quick ? QUICK_ROWS : Infinity)
    const begun = performance.now()
    const report = await replayHalfYear(rows, {
      folder,
      seed: 1,
      everybodyEveryDays: quick ? 15 : 1,
      probes: quick ? QUICK_PROBES : PROBES,
      progress,
    })
    const { plays, worker, writes, ending, expiry, falsePositives } = report
    for (const sentence of report.cameBack) progress(sentence)
    return [
      { metric: 'plays', value: plays, unit: '' },
      { metric: 'viewers', value: report.viewers, unit: '' },
      { metric: 'runs of the worker', value: worker.runs, unit: '' },
      { metric: 'calls of the worker that failed', value: worker.failures, unit: '' },
      { metric: 'recorded ids of live months asked for', value: report.asked, unit: '' },
      none('of these came back', report.cameBack.length),
      { metric: 'ids of a month a millisecond before it is over: hidden', value: ending.hiddenBefore, unit: '' },
      none('shown', ending.shownBefore),
      { metric: 'the same a millisecond later: shown', value: ending.shownAfter, unit: '' },
      {
        metric: 'still hidden, which are false positives',
        value: percent(ending.hiddenAfter, ending.shownAfter + ending.hiddenAfter),
        unit: '%',
        target: 1,
        atMost: true,
      },
      none('viewers left in the ring after quiet', report.left),
      { metric: 'filters written', value: writes.all, unit: '' },
      { metric: 'plays : filters written', value: plays / writes.all, unit: '' },
      { metric: 'of those, to close a month', value: writes.closings, unit: '' },
      none('writes beyond one for a viewer, month and hour', writes.tooMany),
      {
        metric: 'filters of the first month that were purged in their sixth month after',
        value: expiry.purged,
        unit: '',
        target: expiry.expected,
      },
      none('purged before it, or not at night', expiry.outside),
      none('left after it', expiry.after),
      { metric: 'bytes of all filters a play', value: report.bytes / plays, unit: 'bytes' },
      ...Object.entries(falsePositives).flatMap(([name, { probes, hidden }]): Measure[] => [
        { metric: `${name} viewers: ids never played asked for`, value: probes, unit: '' },
        { metric: `${name} viewers: of these hidden`, value: percent(hidden, probes), unit: '%', target: 1, atMost: true },
      ]),
      { metric: 'time', value: (performance.now() - begun) / 1_000, unit: 's' },
    ]
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function none(metric: string, value: number): Measure {
  return { metric, value, unit: '', target: 0, atMost: true }
}

function percent(some: number, all: number): number {
  return all === 0 ? 0 : (100 * some) / all
}

async function readRows(file: string, max: number): Promise<Row[]> {
  const rows: Row[] = []
  for await (const { viewer, oid, viewedAt } of readInteractions(file)) {
    if (rows.length === max) break
    rows.push({ viewer, oid, viewedAt })
  }
  return rows
}
