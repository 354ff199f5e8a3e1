/**
 * Who thinks what of which subjects, for the benchmarks of marks: recorded interactions as `tidemark replay --marks` sends
 * them, or a sample of the same form. Given as often as it is asked for, always the same.
 */
import { marksOf, type WireMark } from '../../cli/marks-of-rows.ts'
import { readMarks } from '../../cli/replay-marks.ts'
import { randomBelow, seededRandom } from '../../core/random.ts'

export const BUSINESS = 'video'
/** As the configuration numbers it. */
export const BUSINESS_NUMBER = 1

/** Of a small site, in proportion to its rows, as recorded ones are. */
const ROWS_PER_VIEWER = 7
const ROWS_PER_SUBJECT = 12
const START = 1_300_000_000_000
const ROW_EVERY_MS = 60_000

export type Dataset = {
  marks(): AsyncGenerator<WireMark>
  viewers: string[]
  subjects: string[]
  /** Subjects that a viewer has marked. */
  markedBy: Map<string, string[]>
}

/** `rows`: how many of the file, or of the sample. */
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

async function* sample(rows: number): AsyncGenerator<WireMark> {
  const random = seededRandom(1)
  const viewers = Math.ceil(rows / ROWS_PER_VIEWER)
  const subjects = Math.ceil(rows / ROWS_PER_SUBJECT)
  for (let row = 0; row < rows; row++) {
    const viewer = String(1 + randomBelow(random, viewers))
    // A few subjects are marked by many.
    const oid = String(1 + Math.floor(subjects * random() ** 3))
    yield* marksOf({ viewer, oid, viewedAt: START + row * ROW_EVERY_MS }, BUSINESS)
  }
}

/** What one page asks for: half of it the viewer has marked, if he has marked so many. */
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
