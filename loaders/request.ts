/** The loaders of one request: those of every subgraph that runs in this process. */
import type { ExistenceLoaders } from './feed-existence.ts'
import type { FeedLoaders } from './feed.ts'
import type { Loaders } from './history.ts'
import type { ThumbupLoaders } from './thumbup.ts'

export type RequestLoaders = Loaders & ThumbupLoaders & ExistenceLoaders & FeedLoaders
