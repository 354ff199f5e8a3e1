/** README.md is short, and its first page shows an answer. Longer examples belong into docs. */
import type { Repository } from '../repository.ts'

const DOCUMENT = 'README.md'
const LINES_MAX = 120
/** The lines that a reader sees before they scroll. */
const FIRST_PAGE = 40

export function readmeMistakes({ files, read }: Repository): string[] {
  if (!files.has(DOCUMENT)) return [`${DOCUMENT} is not there: add it`]
  const lines = read(DOCUMENT).trimEnd().split('\n')
  const isAnswered = lines.slice(0, FIRST_PAGE).includes('```json')
  return [
    ...(lines.length > LINES_MAX ? [`${DOCUMENT} has ${lines.length} lines: move a part into docs, ${LINES_MAX} is the limit`] : []),
    ...(isAnswered ? [] : [`${DOCUMENT} shows no answer (a block of json) in its first ${FIRST_PAGE} lines: move the first call up`]),
  ]
}
