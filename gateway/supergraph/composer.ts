/**
 * The default graph is composed in advance, in schema/supergraph.graphql. The second line of that file has the hash of its subgraphs. A
 * process with exactly these subgraphs reads the file and does not load the composer. `npm run check:schema` composes the file again and compares.
 */
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { SubgraphSdl } from './subgraph-sdl.ts'

/** Throws CONFIG_INVALID with one sentence per reason. */
export type Compose = (subgraphs: readonly SubgraphSdl[]) => string

const STORED = new URL('../../schema/supergraph.graphql', import.meta.url)

/** A composer for these subgraphs. */
export async function composerFor(subgraphs: readonly SubgraphSdl[], stored: URL = STORED): Promise<Compose> {
  const known = readStored(stored, subgraphs)
  return known === undefined ? (await import('./compose.ts')).composeSupergraph : () => known
}

function readStored(file: URL, subgraphs: readonly SubgraphSdl[]): string | undefined {
  try {
    const [, line, ...lines] = readFileSync(file, 'utf8').split('\n')
    // The last line of the file is empty.
    return line === hashLine(subgraphs) ? lines.slice(0, -1).join('\n') : undefined
  } catch {
    // The composer makes the same text.
    return undefined
  }
}

/** The file of a graph that is composed in advance. */
export function storedForm(subgraphs: readonly SubgraphSdl[], supergraph: string): string {
  return `# Composed by "npm run schema" from the default configuration; never edited.\n${hashLine(subgraphs)}\n${supergraph}\n`
}

function hashLine(subgraphs: readonly SubgraphSdl[]): string {
  const hash = createHash('sha256').update(JSON.stringify(subgraphs.map(({ name, sdl, url }) => [name, sdl, url])))
  return `# Subgraphs: ${hash.digest('hex')}`
}
