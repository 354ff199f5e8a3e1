/** All dashboards: an overview, the gateway, and one per subgraph with its job. */
import type { Dashboard } from './dashboard.ts'
import { GATEWAY } from './gateway.ts'
import { EXISTENCE, FEED, HISTORY, LIKES } from './jobs.ts'
import { OVERVIEW } from './overview.ts'

export const DASHBOARDS: readonly Dashboard[] = [OVERVIEW, GATEWAY, HISTORY, LIKES, EXISTENCE, FEED]
