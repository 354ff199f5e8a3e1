/** `tidemark compose` prints the supergraph of Tidemark's and partners' subgraphs as SDL. */
import { loadGraph, readGraphSettings } from './graph-files.ts'
import { writeOut } from './out-file.ts'
import type { Flags } from './process/settings.ts'

/** `print` gets the SDL unless `out` names a file; `tell` gets a sentence about it. */
export async function compose(flags: Flags & { out?: string }, print: (text: string) => void, tell: (line: string) => void): Promise<void> {
  const { loaded } = await loadGraph(readGraphSettings(flags))
  if (flags.out === undefined) print(loaded.sdl)
  else writeOut(flags.out, `${loaded.sdl}\n`)
  const names = loaded.placements.map(({ name, url }) => `${name} (${url ?? 'in the process'})`)
  for (const sentence of loaded.gaps) tell(sentence)
  tell(`composed ${names.join(', ')}: ${loaded.hash}${flags.out === undefined ? '' : `, in ${flags.out}`}`)
}
