/**
 * The schemas of Tidemark's subgraphs under a configuration, without stores or resolvers. `start` serves these subgraphs, and every tool
 * that composes, compares or prints a graph uses them, so that all use the same graph.
 */
import type { Config } from '../config/config.ts'
import { existenceSdl } from './feed-existence/schema.ts'
import { hasFeed } from '../config/feed.ts'
import { feedSdl } from './feed/schema.ts'
import { historySdl } from './history/schema.ts'
import { SUBGRAPH_NAMES, type SubgraphName } from './names.ts'
import { hasThumbup } from './thumbup/businesses.ts'
import { thumbupSdl } from './thumbup/schema.ts'

type Described = {
  /** A configuration may not need a subgraph, and no graph includes it then. */
  isServed(config: Config): boolean
  sdl(config: Config): string
}

const SUBGRAPHS: Readonly<Record<SubgraphName, Described>> = {
  history: { isServed: () => true, sdl: ({ businesses }) => historySdl(businesses) },
  thumbup: { isServed: hasThumbup, sdl: ({ businesses }) => thumbupSdl(businesses) },
  'feed-existence': { isServed: () => true, sdl: ({ businesses }) => existenceSdl(businesses) },
  feed: { isServed: hasFeed, sdl: feedSdl },
}

/** The names of the subgraphs that this configuration serves. */
export function servedSubgraphs(config: Config): SubgraphName[] {
  return SUBGRAPH_NAMES.filter((name) => SUBGRAPHS[name].isServed(config))
}

/** Their names and schemas. */
export function ourSubgraphs(config: Config): { readonly name: SubgraphName; readonly sdl: string }[] {
  return servedSubgraphs(config).map((name) => ({ name, sdl: SUBGRAPHS[name].sdl(config) }))
}
