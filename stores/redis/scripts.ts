/**
 * The Lua scripts, read once. A script names its shared parts in a line `-- include: record timeline`. They are placed before its body, so
 * that Redis gets one text with one hash.
 *
 * Scripts are called by hash. A server that lost them (SCRIPT FLUSH, a restart, a failover) answers NOSCRIPT. The call is then repeated
 * once with the whole text, which that server keeps: see `connection.ts`.
 */
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'

export type Script = { name: string; text: string; hash: string }

/** `folder`: the folder of the script and of its included parts. */
export function readScript(folder: URL, name: string): Script {
  const readPart = (part: string): string => readFileSync(new URL(`${part}.lua`, folder), 'utf8')
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

export const PROBE = readScript(new URL('./scripts/', import.meta.url), 'probe')
