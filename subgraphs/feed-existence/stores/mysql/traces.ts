/** The traces of a viewer in the tables of feed existence on MySQL. */
import type { TracedRows } from '../../../../stores/mysql/traces.ts'

const ofViewer = (viewer: string) => `viewer = ${viewer}`

export const SEEN_ROWS: readonly TracedRows[] = [
  { table: 'seen_filters', condition: ofViewer },
  { table: 'seen_quarantine', condition: ofViewer },
]
