/** The Lua scripts of counters, from the folder beside this file. */
import { readScript } from '../../../../../stores/redis/scripts.ts'

const read = (name: string) => readScript(new URL('./scripts/', import.meta.url), name)

export const SCRIPTS = {
  adjust: read('adjust-counters'),
  fill: read('fill-counters'),
  split: read('split-block'),
  getWide: read('get-wide-counters'),
  clear: read('clear-counters'),
} as const
