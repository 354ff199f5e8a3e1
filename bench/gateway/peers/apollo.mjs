/** `@apollo/gateway` on Apollo Server, started as in its documentation. */
import { ApolloGateway, LocalGraphQLDataSource } from '@apollo/gateway'
import { ApolloServer } from '@apollo/server'
import { startStandaloneServer } from '@apollo/server/standalone'
import { ApolloServerPluginLandingPageDisabled, ApolloServerPluginUsageReportingDisabled } from '@apollo/server/plugin/disabled'

const SILENT = { debug() {}, info() {}, warn() {}, error: console.error }

/** `local`, if the subgraphs are in this process: `schemaOf(name)`, and `makeContext` per request. */
export async function startApollo(supergraphSdl, port, local) {
  const gateway = new ApolloGateway({
    supergraphSdl,
    logger: SILENT,
    ...(local === undefined ? {} : { buildService: ({ name }) => new LocalGraphQLDataSource(local.schemaOf(name)) }),
  })
  const server = new ApolloServer({
    gateway,
    logger: SILENT,
    plugins: [ApolloServerPluginLandingPageDisabled(), ApolloServerPluginUsageReportingDisabled()],
  })
  const context = local === undefined ? {} : { context: () => Promise.resolve(local.makeContext()) }
  const { url } = await startStandaloneServer(server, { ...context, listen: { host: '127.0.0.1', port } })
  return url
}
