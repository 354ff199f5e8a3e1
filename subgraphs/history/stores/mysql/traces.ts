/** The traces of a viewer in the tables of history on MySQL. */
import type { TracedRows } from '../../../../stores/mysql/traces.ts'

const ofViewer = (viewer: string) => `viewer = ${viewer}`

export const HISTORY_ROWS: readonly TracedRows[] = [
  { table: 'history', condition: ofViewer, version: 'version' },
  { table: 'viewer_settings', condition: ofViewer, version: 'version' },
]
