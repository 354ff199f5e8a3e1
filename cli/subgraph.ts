/** `tidemark subgraph NAME` serves one subgraph alone. On the embedded stores it also runs the subgraph's job. */
import { isEmbedded, openRole } from './process/open-role.ts'
import { readSubgraphSettings, type Flags } from './process/settings.ts'
import { serveAlone } from './process/standalone.ts'
import { checkName, requireServed } from './process/subgraphs.ts'

export async function subgraph(name: string, flags: Flags): Promise<void> {
  const known = checkName(name, 'subgraph')
  const settings = readSubgraphSettings(flags)
  const { config } = settings
  requireServed(known, config)
  const opened = await openRole([known], settings, { serves: true, persists: isEmbedded(config), journals: true })
  const [served] = opened.subgraphs
  if (served === undefined) throw new Error(`${known} was not opened`)
  const server = await serveAlone(served, opened)
  opened.drainOnSignal({ name: 'requests', run: () => server.close() })
  const { url } = await server.listen()
  console.log(`The ${known} subgraph is ready: ${url}/`)
}
