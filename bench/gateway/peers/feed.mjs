/**
 * Another gateway over the subgraphs of the feed benchmark, all in this process: `fork('feed.mjs', ['hive-native' | 'apollo'])`.
 * It reports the port to its parent and answers `usage`, as in bench/gateway/feed-child.ts.
 *
 * Each gateway gets its subgraphs in its fastest way. Hive's native planner calls a function per fetch: graphql-jit, compiled
 * once, on the same schema objects as our gateway. `@apollo/gateway` has LocalGraphQLDataSource. Its schemas are built here from
 * the same SDL and resolvers, because they must be objects of the graphql package in this folder.
 */
import { buildSubgraphSchema } from '@apollo/subgraph'
import { parse } from 'graphql'
import { reportToParent } from '../feed-child.ts'
import { compileSubgraph } from '../feed-compile.ts'
import { feedModules, feedSubgraphs, feedSupergraph, makeFeedContext } from '../feed-graph.ts'

/** Apollo and Hive take subgraphs in different ways; both share one fresh set of loaders per request. */
async function start(kind) {
  const supergraph = feedSupergraph()
  if (kind === 'hive-native') {
    const { startHive } = await import('./hive.mjs')
    const runs = new Map(feedSubgraphs().map(({ name, schema }) => [name, compileSubgraph(schema)]))
    const executorOf = (name) => {
      const run = runs.get(name)
      return ({ document, variables, context }) => run(document, context, variables)
    }
    return startHive('native', supergraph, 0, { executorOf, makeContext: makeFeedContext })
  }
  if (kind === 'apollo') {
    const { startApollo } = await import('./apollo.mjs')
    const schemas = new Map(
      feedModules().map(({ name, sdl, resolvers }) => [name, buildSubgraphSchema([{ typeDefs: parse(sdl), resolvers }])]),
    )
    return startApollo(supergraph, 0, { schemaOf: (name) => schemas.get(name), makeContext: makeFeedContext })
  }
  throw new Error(`there is no gateway "${kind}" for subgraphs in process: use hive-native or apollo`)
}

reportToParent(await start(process.argv[2]))
