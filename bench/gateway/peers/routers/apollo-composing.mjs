/** `@apollo/gateway` that composes the graph from the SDL of running subgraphs. Environment: SUBGRAPHS, JSON of {name, url}; PORT. */
import { ApolloGateway, IntrospectAndCompose, RemoteGraphQLDataSource } from '@apollo/gateway'
import { ApolloServer } from '@apollo/server'
import { startStandaloneServer } from '@apollo/server/standalone'

class ForwardingSource extends RemoteGraphQLDataSource {
  willSendRequest({ request, context }) {
    if (context.authorization !== undefined) request.http.headers.set('authorization', context.authorization)
  }
}

const gateway = new ApolloGateway({
  supergraphSdl: new IntrospectAndCompose({ subgraphs: JSON.parse(process.env.SUBGRAPHS) }),
  buildService: ({ url }) => new ForwardingSource({ url }),
})
await startStandaloneServer(new ApolloServer({ gateway }), {
  listen: { host: '127.0.0.1', port: Number(process.env.PORT) },
  context: async ({ req }) => ({ authorization: req.headers.authorization }),
})
