/** `tidemark compose` prints the supergraph of Tidemark's and partners' subgraphs as SDL. */
import { writeFileSync } from 'node:fs'
import { TidemarkError } from '../core/errors.ts'
import { loadGraph, readGraphSettings } from './graph-files.ts'
import type { Flags } from './process/settings.ts'

/** `print` gets the SDL unless `out` names a file; `tell` gets a sentence about it. */
export async function compose(flags: Flags & { out?: string }, print: (text: string) => void, tell: (line: string) => void): Promise<void> {
  const { loaded } = await loadGraph(readGraphSettings(flags))
  if (flags.out === undefined) print(loaded.sdl)
  else write(flags.out, `${loaded.sdl}\n`)
  const names = loaded.placements.map(({ name, url }) => `${name} (${url ?? 'in the process'})`)
  for (const sentence of loaded.gaps) tell(sentence)
  tell(`composed ${names.join(', ')}: ${loaded.hash}${flags.out === undefined ? '' : `, in ${flags.out}`}`)
}

function write(path: string, text: string): void {
  try {
    writeFileSync(path, text)
  } catch (cause) {
    throw new TidemarkError('CONFIG_INVALID', `${path} cannot be written (${(cause as Error).message}): correct --out`, { cause })
  }
}
