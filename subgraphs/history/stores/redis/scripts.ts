/** The Lua scripts of progress, from the folder beside this file. */
import { readScript } from '../../../../stores/redis/scripts.ts'

const read = (name: string) => readScript(new URL('./scripts/', import.meta.url), name)

export const SCRIPTS = {
  putProgress: read('put-progress'),
  deleteProgress: read('delete-progress'),
  clearProgress: read('clear-progress'),
  setPaused: read('set-paused'),
  listTimeline: read('list-timeline'),
  listChanges: read('list-changes'),
  clearDirty: read('clear-dirty'),
  fillProgress: read('fill-progress'),
  fillSettings: read('fill-settings'),
  dropDirty: read('drop-dirty'),
  purgeRecords: read('purge-records'),
} as const
