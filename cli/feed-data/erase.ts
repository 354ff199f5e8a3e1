/**
 * `tidemark erase-feed` erases what the feed has of a viewer: posts, filter words, posts that others sent to the viewer, and follows in both
 * directions. It may run beside the service, and may be repeated. It makes the changes that the API makes (`write/erasure.ts`), and leaves
 * persisting them to the jobs.
 */
import { Registry } from '@prometheus-io/client'
import { systemClock } from '../../core/clock.ts'
import { checkId } from '../../core/keys.ts'
import type { Erased } from '../../subgraphs/feed/write/erasure.ts'
import { requireDataFolder } from '../process/data-folder.ts'
import { makeLog } from '../process/log.ts'
import { fixedConfig } from '../process/live-config.ts'
import { readSettings, type Flags } from '../process/settings.ts'
import { drainSteps, openParts, requireServed, type Part } from '../process/subgraphs.ts'
import { openStores } from '../stores/history.ts'

const ONLY_WRITES = { serves: false, persists: false, journals: false }

export async function eraseFeed(viewer: string, flags: Flags, print: (line: string) => void): Promise<void> {
  const config = readSettings(flags)
  checkId(viewer, 'the id of the viewer')
  requireServed('feed', config)
  requireDataFolder(config)
  const log = makeLog()
  const stores = await openStores(config, systemClock, log)
  try {
    const parts = await openParts(['feed'], ONLY_WRITES, fixedConfig(config), stores, new Registry(), log)
    try {
      for (const line of linesOf(viewer, await eraseIn(parts, viewer))) print(line)
    } finally {
      for (const { run } of drainSteps(parts)) await run()
    }
  } finally {
    await stores.close()
  }
}

async function eraseIn(parts: readonly Part[], viewer: string): Promise<Erased> {
  for (const { subgraph } of parts) if (subgraph.name === 'feed') return subgraph.erase(viewer)
  throw new Error('the feed was not opened')
}

function linesOf(viewer: string, { posts, received, words, follows, followers }: Erased): string[] {
  if (posts + received + words + follows + followers === 0) return [`the feed has nothing of viewer ${viewer}`]
  return [
    `posts           ${posts} deleted`,
    `inbox           ${received} posts of others removed`,
    `filter words    ${words === 0 ? 'none' : 'removed'}`,
    `follows         ${follows} ended, and ${followers} of followers`,
  ]
}
