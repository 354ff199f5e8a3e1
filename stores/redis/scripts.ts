/**
 * The Lua scripts, read once. A script names the shared parts it needs in a line `-- include: record timeline`; they are
 * set before its body, so that one text, with one hash, is what Redis gets.
 *
 * Scripts are called by hash. A server that lost them (SCRIPT FLUSH, a restart, a failover) answers NOSCRIPT, and the
 * call is repeated once with the whole text, which that server then keeps: see `connection.ts`.
 */
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'

export type Script = { name: string; text: string; hash: string }

const FOLDER = new URL('./scripts/', import.meta.url)

function readScript(name: string): Script {
  const [shebang = '', ...lines] = readPart(name).split('\n')
  const includes =
    lines
      .find((line) => line.startsWith('-- include:'))
      ?.slice('-- include:'.length)
      .trim()
      .split(' ') ?? []
  const text = [shebang, ...includes.map(readPart), ...lines].join('\n')
  return { name, text, hash: createHash('sha1').update(text).digest('hex') }
}

function readPart(name: string): string {
  return readFileSync(new URL(`${name}.lua`, FOLDER), 'utf8')
}

export const SCRIPTS = {
  putProgress: readScript('put-progress'),
  deleteProgress: readScript('delete-progress'),
  clearProgress: readScript('clear-progress'),
  setPaused: readScript('set-paused'),
  listTimeline: readScript('list-timeline'),
  listChanges: readScript('list-changes'),
  clearDirty: readScript('clear-dirty'),
  dropDirty: readScript('drop-dirty'),
  probe: readScript('probe'),
  purgeRecords: readScript('purge-records'),
  putMarks: readScript('put-marks'),
  fillMarks: readScript('fill-marks'),
  clearMarks: readScript('clear-marks'),
  dropMarks: readScript('drop-marks'),
  purgeMarks: readScript('purge-marks'),
  forgetMarks: readScript('forget-marks'),
  putCounts: readScript('put-counts'),
  getLikers: readScript('get-likers'),
  putLikers: readScript('put-likers'),
  putOwnerSums: readScript('put-owner-sums'),
  putIssued: readScript('put-issued'),
  stagePlays: readScript('stage-plays'),
  removeStaged: readScript('remove-staged'),
} as const
