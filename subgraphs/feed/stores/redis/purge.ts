/**
 * Retention. Each region lists the changes of its held posts, and its noted changes, in order. Both are examined from the beginning, some
 * at a time. What is dirty stays at the beginning and is skipped.
 */
import { scriptCommand, type Command, type Connection } from '../../../../stores/redis/connection.ts'
import type { FeedLayout } from './keys.ts'
import { SCRIPTS } from './scripts.ts'
import { tickOfTime } from './values.ts'

/** Changes that a script examines. It blocks its server for less than a millisecond. */
const CHANGES_PER_SCRIPT = 50

type Examine = (region: number, oldTick: number, count: number, passed: number) => Command

export function makeFeedPurging(connection: Connection, layout: FeedLayout) {
  const examinePosts: Examine = (region, ...args) => {
    const roots = [layout.posts(region), layout.clientKeys(region), layout.outbox(region), layout.deleted(region)]
    return scriptCommand(SCRIPTS.purgePosts, [layout.held(region), layout.dirty(region), ...roots], args)
  }
  const examineChanges: Examine = (region, ...args) => {
    const roots = [layout.inbox(region), layout.recalled(region), layout.words(region)]
    return scriptCommand(SCRIPTS.purgeChanges, [layout.changes(region), layout.dirty(region), ...roots], args)
  }

  async function purgeRegion(examine: Examine, region: number, oldTick: number, limit: number): Promise<number> {
    let forgotten = 0
    for (let passed = 0; forgotten < limit;) {
      const count = Math.min(CHANGES_PER_SCRIPT, limit - forgotten)
      const [answer] = await connection.send([examine(region, oldTick, count, passed)])
      const [gone, stay, mayGoOn] = answer as [number, number, number]
      forgotten += gone
      passed = stay
      if (mayGoOn === 0) break
    }
    return forgotten
  }

  return {
    async purgeOld(regions: readonly number[], changedBefore: number, limit: number): Promise<number> {
      const oldTick = tickOfTime(changedBefore)
      let forgotten = 0
      for (const region of regions)
        for (const examine of [examinePosts, examineChanges]) {
          if (forgotten < limit) forgotten += await purgeRegion(examine, region, oldTick, limit - forgotten)
        }
      return forgotten
    },
  }
}
