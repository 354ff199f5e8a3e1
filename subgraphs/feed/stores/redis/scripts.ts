/** The Lua scripts of the feed's hot store, from the folder beside this file. */
import { readScript } from '../../../../stores/redis/scripts.ts'

const read = (name: string) => readScript(new URL('./scripts/', import.meta.url), name)

export const SCRIPTS = {
  publish: read('publish'),
  deletePost: read('delete-post'),
  replacePost: read('replace-post'),
  changeInboxes: read('change-inboxes'),
  setWords: read('set-words'),
  noteChange: read('note-change'),
  getLists: read('get-lists'),
  listChanges: read('list-changes'),
  clearDirty: read('clear-dirty'),
  dropDirty: read('drop-dirty'),
  purgePosts: read('purge-posts'),
  purgeChanges: read('purge-changes'),
} as const
