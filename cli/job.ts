/** `tidemark job NAME` runs the job of one subgraph. */
import type { Flags } from './process/settings.ts'
import { start } from './start.ts'
import { checkName } from './process/subgraphs.ts'

export async function job(name: string, flags: Flags): Promise<void> {
  await start('job', flags, checkName(name, 'job'))
}
