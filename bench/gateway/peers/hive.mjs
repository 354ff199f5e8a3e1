/** Hive gateway: its own fetch and HTTP stack around one of its two planners. No plugins, no log, no landing page. */
import { createServer } from 'node:http'
import { createGatewayRuntime } from '@graphql-hive/gateway-runtime'
import { unifiedGraphHandler } from '@graphql-hive/router-runtime'
import * as http from '@graphql-mesh/transport-http'

/**
 * `planner`: native or js. `local`, if the subgraphs are in this process: `executorOf(name)` takes requests to a subgraph, and
 * `makeContext` makes the context that the resolvers of one request share.
 */
export async function startHive(planner, supergraph, port, local) {
  const gateway = createGatewayRuntime({
    supergraph,
    logging: false,
    landingPage: false,
    graphiql: false,
    ...(planner === 'native' ? { unifiedGraphHandler } : {}),
    transports: { http: local === undefined ? http : { getSubgraphExecutor: ({ subgraphName }) => local.executorOf(subgraphName) } },
    plugins: () => (local === undefined ? [] : [{ onContextBuilding: ({ extendContext }) => extendContext(local.makeContext()) }]),
  })
  const server = createServer((request, response) => void gateway(request, response))
  await new Promise((resolve) => server.listen(port, '127.0.0.1', resolve))
  return `http://127.0.0.1:${server.address().port}/graphql`
}
