/** Pages as GraphQL connections: edges with their cursors, and where the page begins and ends. */

export function connectionOf<E extends { cursor: string }>(edges: readonly E[], page: { hasNextPage: boolean }, hasPreviousPage: boolean) {
  return {
    edges,
    pageInfo: {
      hasNextPage: page.hasNextPage,
      hasPreviousPage,
      startCursor: edges[0]?.cursor ?? null,
      endCursor: edges[edges.length - 1]?.cursor ?? null,
    },
  }
}
