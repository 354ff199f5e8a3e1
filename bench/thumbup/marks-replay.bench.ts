/**
 * Do replayed marks equal a recount of the recorded interactions, on both shapes? Compared are every viewer's states and likes, every
 * subject's counts and likers, every owner's sum, and the counts with the stored rows. The comparison runs three times:
 *
 * 1. after the replay;
 * 2. after a kill -9 of everything and the archiving of all marks;
 * 3. with an empty hot store, so that everything is read from the archive.
 *
 * It also measures the bytes of a mark before and after archiving.
 *
 *     npm run bench -- marks-replay [--quick] [--json] [--file interactions.tsv.gz]
 *
 * Without --file the rows are a sample of the same form; `--quick` takes one of 3,000.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { replayMarks } from '../../cli/replay/replay-marks.ts'
import { SHAPES, forgetHot, type MarkShape } from '../../harness/samples/mark-shapes.ts'
import type { BenchOptions, Measure } from '../support/report.ts'
import { writeSample } from '../../harness/samples/sample-file.ts'
import { BUSINESS, BUSINESS_NUMBER } from './dataset.ts'

const ARCHIVED_MAX_MS = 300_000
const BEFORE = { windowMs: 2_000, archiveAfterDays: 'never' }
const ARCHIVING = { windowMs: 2_000, archiveAfterDays: 365, purgeEveryMs: 500 }

export async function bench({ quick, file, progress }: BenchOptions): Promise<Measure[]> {
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-sample-'))
  try {
    const sample = join(folder, 'sample.tsv')
    if (file === undefined) writeSample(sample, quick ? 3_000 : 30_000)
    const measures: Measure[] = []
    for (const start of Object.values(SHAPES)) {
      const shape = await start(BEFORE)
      try {
        measures.push(...(await replayAndArchive(shape, file ?? sample, progress)))
      } finally {
        await shape.remove()
      }
    }
    return measures
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

async function replayAndArchive(shape: MarkShape, file: string, progress: (text: string) => void): Promise<Measure[]> {
  const tell = (text: string) => progress(`${shape.name}: ${text}`)
  const replay = (verifyOnly: boolean) => replayMarks(file, optionsOf(shape, verifyOnly), tell)
  tell('replaying')
  const begun = performance.now()
  const afterReplay = await replay(false)
  const replayMs = performance.now() - begun
  const before = await shape.withStores(({ marks }) => marks.records.measureMarks())
  tell('kill -9, then archiving everything')
  await shape.kill()
  await shape.start(ARCHIVING)
  const archivedMs = await waitUntilArchived(shape)
  const afterArchiving = await replay(true)
  tell('the hot store forgets')
  await shape.kill()
  const after = await shape.withStores(async (stores) => {
    await forgetHot(stores, BUSINESS_NUMBER)
    return stores.marks.records.measureMarks()
  })
  await shape.start(ARCHIVING)
  const fromArchive = await replay(true)
  return [
    equal(`${shape.name}: equal to the file after the replay`, afterReplay),
    equal(`${shape.name}: equal after kill -9 and archiving`, afterArchiving),
    equal(`${shape.name}: equal when read from the archive alone`, fromArchive),
    { metric: `${shape.name}: replayed and verified in`, value: replayMs / 1_000, unit: 's' },
    { metric: `${shape.name}: live marks`, value: before.recent + before.archived, unit: '' },
    { metric: `${shape.name}: marks archived`, value: after.archived, unit: '', target: before.recent },
    { metric: `${shape.name}: archived after`, value: archivedMs / 1_000, unit: 's' },
    { metric: `${shape.name}: a recent mark`, value: before.recentBytes / before.recent, unit: 'bytes' },
    { metric: `${shape.name}: an archived mark`, value: after.archivedBytes / after.archived, unit: 'bytes' },
  ]
}

function equal(metric: string, ok: boolean): Measure {
  return { metric, value: ok ? 1 : 0, unit: '', target: 1 }
}

function optionsOf(shape: MarkShape, verifyOnly: boolean) {
  return {
    ...{ url: shape.url(), job: shape.job(), verifyOnly, verify: true, wait: true, business: BUSINESS, token: undefined },
    ...{ heartbeats: 1, batch: 500, concurrency: 8 },
  }
}

async function waitUntilArchived(shape: MarkShape): Promise<number> {
  const begun = performance.now()
  for (;;) {
    const { recent } = await shape.withStores(({ marks }) => marks.records.measureMarks())
    if (recent === 0) return performance.now() - begun
    if (performance.now() - begun > ARCHIVED_MAX_MS) throw new Error(`${recent} marks were not archived`)
    await sleep(1_000)
  }
}
