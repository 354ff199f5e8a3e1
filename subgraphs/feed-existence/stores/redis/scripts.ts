/** The Lua scripts of issued and played subjects, from the folder beside this file. */
import { readScript } from '../../../../stores/redis/scripts.ts'

const read = (name: string) => readScript(new URL('./scripts/', import.meta.url), name)

export const SCRIPTS = {
  putIssued: read('put-issued'),
  stagePlays: read('stage-plays'),
  removeStaged: read('remove-staged'),
} as const
