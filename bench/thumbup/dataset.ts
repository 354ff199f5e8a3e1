/**
 * Marks of viewers on subjects, for the benchmarks of marks: recorded interactions as `tidemark replay --marks` sends them, or a sample of
 * the same form. Every read of it gives the same marks.
 */
import { marksOf, type WireMark } from '../../cli/replay/marks-of-rows.ts'
import { readMarks } from '../../cli/replay/replay-marks.ts'
import { randomBelow, seededRandom } from '../../core/random.ts'
import { sampleRows } from '../../harness/samples/sample-file.ts'

export const BUSINESS = 'video'
/** Its number in the configuration. */
export const BUSINESS_NUMBER = 1

export type Dataset = {
  marks(): AsyncGenerator<WireMark>
  viewers: string[]
  subjects: string[]
  /** Subjects that a viewer has marked. */
  markedBy: Map<string, string[]>
}

/** `rows`: the number of rows to read from the file, or of the sample. */
export async function readDataset(file: string | undefined, rows: number): Promise<Dataset> {
  const marks = file === undefined ? () => sample(rows) : () => firstOf(readMarks(file, BUSINESS), rows)
  const markedBy = new Map<string, string[]>()
  const subjects = new Set<string>()
  for await (const { viewer, id } of marks()) {
    subjects.add(id)
    const marked = markedBy.get(viewer)
    if (marked === undefined) markedBy.set(viewer, [id])
    else if (!marked.includes(id)) marked.push(id)
  }
  return { marks, viewers: [...markedBy.keys()], subjects: [...subjects], markedBy }
}

async function* firstOf(marks: AsyncGenerator<WireMark>, rows: number): AsyncGenerator<WireMark> {
  let count = 0
  for await (const mark of marks) {
    if (count++ === rows) return
    yield mark
  }
}

// oxlint-disable-next-line require-await -- read like the marks of a file
async function* sample(rows: number): AsyncGenerator<WireMark> {
  for (const row of sampleRows(rows)) yield* marksOf(row, BUSINESS)
}

/** The subjects of one page. The viewer has marked half of them, if there are enough. */
export type PageRequest = { viewer: string; oids: string[] }

export function makePageRequests({ viewers, subjects, markedBy }: Dataset, count: number, size: number): PageRequest[] {
  const random = seededRandom(2)
  const busiest = viewers.toSorted((a, b) => (markedBy.get(b)?.length ?? 0) - (markedBy.get(a)?.length ?? 0)).slice(0, 1_000)
  return Array.from({ length: count }, () => {
    const viewer = busiest[randomBelow(random, busiest.length)] as string
    const marked = markedBy.get(viewer) ?? []
    const oids = new Set(marked.slice(0, size / 2))
    while (oids.size < size) oids.add(subjects[randomBelow(random, subjects.length)] as string)
    return { viewer, oids: [...oids] }
  })
}
