/** `@apollo/gateway` that forwards the client's token to the subgraphs. Environment: SUPERGRAPH, a file; PORT. */
import { readFileSync } from 'node:fs'
import { ApolloGateway, RemoteGraphQLDataSource } from '@apollo/gateway'
import { ApolloServer } from '@apollo/server'
import { startStandaloneServer } from '@apollo/server/standalone'

class ForwardingSource extends RemoteGraphQLDataSource {
  willSendRequest({ request, context }) {
    if (context.authorization !== undefined) request.http.headers.set('authorization', context.authorization)
  }
}

const gateway = new ApolloGateway({
  supergraphSdl: readFileSync(process.env.SUPERGRAPH, 'utf8'),
  buildService: ({ url }) => new ForwardingSource({ url }),
})
await startStandaloneServer(new ApolloServer({ gateway }), {
  listen: { host: '127.0.0.1', port: Number(process.env.PORT) },
  context: async ({ req }) => ({ authorization: req.headers.authorization }),
})
