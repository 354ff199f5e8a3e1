/** Posts that devices look up by their ids. */
import type { Degraded } from '../../../core/outage/degraded.ts'
import { randomBelow, type Random } from '../../../core/random.ts'
import type { PostId } from '../../../subgraphs/feed/packed/post-id.ts'
import type { Scheduler } from '../scheduler.ts'
import type { FeedChecker } from './checker.ts'
import type { Client, FeedInputs } from './client.ts'
import type { FeedProcess } from './process.ts'
import { without } from './scrolling.ts'

export function makeLookups(random: Random, scheduler: Scheduler, checker: FeedChecker, { knownPost }: FeedInputs) {
  async function lookUp(client: Client, process: FeedProcess): Promise<string> {
    const ids = Array.from({ length: 1 + randomBelow(random, 4) }, () => knownPost()).filter((id) => id !== undefined)
    return lookUpIds(client, process, ids)
  }

  async function lookUpIds({ viewer }: Client, process: FeedProcess, ids: readonly PostId[]): Promise<string> {
    const [since, beganAt] = [checker.truths.tick(), scheduler.now()]
    const degraded: Degraded = new Set()
    const found = await process.readPosts(viewer, ids, degraded)
    checker.checkDegraded(degraded, beganAt, 'a lookup', viewer.id)
    checker.checkLookup(viewer.id, ids, found, since, degraded)
    await askAudience(viewer, process, ids)
    return ids.map((id, at) => `${id} ${found[at] === null ? 'null' : 'found'}`).join(', ') + without(degraded)
  }

  /** Whether this viewer would see the marks of these posts. */
  async function askAudience(viewer: Client['viewer'], process: FeedProcess, ids: readonly PostId[]): Promise<void> {
    const since = checker.truths.tick()
    const degraded: Degraded = new Set()
    checker.checkAudience(viewer.id, ids, await process.maySee(viewer, ids, degraded), since, degraded)
  }

  return { lookUp, lookUpIds }
}
