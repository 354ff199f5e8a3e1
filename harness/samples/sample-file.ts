/** A file of interactions as a sample: a TSV such as `tidemark replay` reads. */
import { writeFileSync } from 'node:fs'
import { randomBelow, seededRandom } from '../../core/random.ts'

/** Numbers of a small site, in proportion to its rows, as in recorded files. */
const ROWS_PER_VIEWER = 7
const ROWS_PER_SUBJECT = 12
const START = 1_000_000_000_000
const ROW_EVERY_MS = 60_000

export function* sampleRows(rows: number): Generator<{ viewer: string; oid: string; viewedAt: number }> {
  const random = seededRandom(1)
  const viewers = Math.ceil(rows / ROWS_PER_VIEWER)
  const subjects = Math.ceil(rows / ROWS_PER_SUBJECT)
  for (let row = 0; row < rows; row++) {
    const viewer = String(1 + randomBelow(random, viewers))
    // A few subjects are marked by many.
    const oid = String(1 + Math.floor(subjects * random() ** 3))
    yield { viewer, oid, viewedAt: START + row * ROW_EVERY_MS }
  }
}

export function writeSample(path: string, rows: number): void {
  const lines = Array.from(sampleRows(rows), ({ viewer, oid, viewedAt }) => `${viewer}\t${oid}\t${viewedAt}\n`)
  writeFileSync(path, `viewer\tsubject\ttime\n${lines.join('')}`)
}
