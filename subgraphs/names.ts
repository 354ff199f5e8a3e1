/** The names of Tidemark's subgraphs, in the order of a graph. All other lists derive from this one. */
export const SUBGRAPH_NAMES = ['history', 'thumbup', 'feed-existence', 'feed'] as const

export type SubgraphName = (typeof SUBGRAPH_NAMES)[number]

/** For a message: history, thumbup, feed-existence or feed. */
export function subgraphNamesText(): string {
  return `${SUBGRAPH_NAMES.slice(0, -1).join(', ')} or ${SUBGRAPH_NAMES.at(-1)}`
}
