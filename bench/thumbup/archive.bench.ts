/**
 * How many bytes does an archived mark take, and how fast is the archive read? Every mark is archived twice, in a block of its viewer and
 * in one of its subject. The table has a row, and an entry in the index of the subject's likers: 60 to 80 bytes together, with integer ids.
 * The marks are recorded interactions (--file) or a sample of 100,000.
 *
 *     npm run bench -- archive [--quick] [--json] [--file interactions.tsv.gz]
 */
import { decodeBlock, encodeBlock, findInBlock, type ArchivedMark } from '../../subgraphs/thumbup/archive/block.ts'
import { wantIds } from '../../subgraphs/thumbup/archive/block-ids.ts'
import { BLOCK_ENTRIES, archivedMark, bytesPerMark } from '../../harness/samples/archived-bytes.ts'
import { recordedMarks, sampleMarks, withExactTimes, withLargeIds, withTextIds, type MarkRow } from '../../harness/samples/archive-load.ts'
import type { BenchOptions, Measure } from '../support/report.ts'

const WANTED = 200

export async function bench({ quick, file, progress }: BenchOptions): Promise<Measure[]> {
  progress('reading the marks')
  const recorded = file === undefined ? sampleMarks(100_000) : await recordedMarks(file)
  const exact = withExactTimes(recorded)
  const inputs: [string, MarkRow[]][] = [
    ['small integers, times in days', recorded],
    ['small integers', exact],
    ['integers below 2^36', withLargeIds(exact)],
    ['25 characters', withTextIds(exact)],
  ]
  const measures: Measure[] = []
  for (const [what, rows] of inputs) {
    progress(`ids: ${what}`)
    const { viewers, subjects } = bytesPerMark(rows)
    measures.push({ metric: `${what}: viewer's block`, value: viewers, unit: 'bytes/mark' })
    measures.push({ metric: `${what}: subject's block`, value: subjects, unit: 'bytes/mark' })
    measures.push(...speeds(what, rows, quick ? 20 : 100))
  }
  return measures
}

/** Speeds with full blocks, as heavy viewers and popular subjects have them: each viewer's first mark, a thousand viewers per block. */
function speeds(what: string, rows: readonly MarkRow[], rounds: number): Measure[] {
  const firsts = [...new Map(rows.map((row) => [row.viewer, row])).values()]
  const sets: ArchivedMark[][] = []
  for (let i = 0; i + BLOCK_ENTRIES <= firsts.length; i += BLOCK_ENTRIES) {
    sets.push(firsts.slice(i, i + BLOCK_ENTRIES).map((row) => archivedMark(row, 'viewer')))
  }
  const blocks = sets.map((set) => encodeBlock(set))
  const wanted = wantIds(firsts.slice(0, WANTED).map((row) => row.viewer))
  const rate = (metric: string, run: () => void): Measure => {
    for (let i = 0; i < rounds / 4; i++) run()
    const start = process.cpuUsage()
    for (let i = 0; i < rounds; i++) run()
    const { user, system } = process.cpuUsage(start)
    return { metric: `${what}: ${metric}`, value: (sets.length * BLOCK_ENTRIES * rounds) / (user + system), unit: 'million per CPU second' }
  }
  return [
    rate('encode', () => sets.forEach((set) => encodeBlock(set))),
    rate('decode', () => blocks.forEach((block) => decodeBlock(block))),
    rate(`look for ${WANTED} ids`, () => blocks.forEach((block) => findInBlock(block, wanted))),
  ]
}
