/** The Lua scripts of marks and counts, from the folder beside this file. */
import { readScript } from '../../../../stores/redis/scripts.ts'

const read = (name: string) => readScript(new URL('./scripts/', import.meta.url), name)

export const SCRIPTS = {
  beginReads: read('begin-reads'),
  putMarks: read('put-marks'),
  fillMarks: read('fill-marks'),
  clearMarks: read('clear-marks'),
  dropMarks: read('drop-marks'),
  purgeMarks: read('purge-marks'),
  forgetMarks: read('forget-marks'),
  putCounts: read('put-counts'),
  getLikers: read('get-likers'),
  putLikers: read('put-likers'),
  putOwnerSums: read('put-owner-sums'),
} as const
