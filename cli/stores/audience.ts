/** The audiences of restricted posts, for the subgraph of likes. It has the stores of the feed also in a process without the feed's subgraph. */
import { postBusinessOf } from '../../config/feed.ts'
import type { Config } from '../../config/config.ts'
import type { Clock } from '../../core/clock.ts'
import type { Audience } from '../../subgraphs/audience.ts'
import { makePostAudience } from '../../subgraphs/feed/read/audience.ts'
import { guardFeedStores } from '../../subgraphs/feed/stores/guarded.ts'
import type { FeedStores } from './feed.ts'

/** `stop` ends the checks of the stores, which stay open. Outages are not reported here: the subgraphs report those of the same servers. */
export function openAudience(clock: Clock, stores: FeedStores, config: Config): Audience & { stop(): void } {
  const guarded = guardFeedStores(clock, stores, {}, () => undefined)
  const audience = makePostAudience(clock, guarded, { business: postBusinessOf(config)?.number as number, regions: config.stores.regions })
  return { ...audience, stop: guarded.stop }
}
