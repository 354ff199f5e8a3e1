/**
 * `@apollo/gateway` that knows its viewers itself, and names them to our subgraphs in a signed header. Environment: SUPERGRAPH, a file;
 * PORT; TIDEMARK_IDENTITY_SECRET.
 */
import { readFileSync } from 'node:fs'
import { ApolloGateway, RemoteGraphQLDataSource } from '@apollo/gateway'
import { ApolloServer } from '@apollo/server'
import { startStandaloneServer } from '@apollo/server/standalone'
import { identityHeader } from './sign-identity.mjs'

const OURS = ['history', 'thumbup', 'feed-existence', 'feed']

class SigningSource extends RemoteGraphQLDataSource {
  willSendRequest({ request, context }) {
    if (context.viewer === undefined || !OURS.includes(this.name)) return
    const headers = identityHeader(this.name, context.viewer, context.scopes)
    for (const [name, value] of Object.entries(headers)) request.http.headers.set(name, value)
  }
}

const gateway = new ApolloGateway({
  supergraphSdl: readFileSync(process.env.SUPERGRAPH, 'utf8'),
  buildService: ({ name, url }) => new SigningSource({ name, url }),
})
await startStandaloneServer(new ApolloServer({ gateway }), {
  listen: { host: '127.0.0.1', port: Number(process.env.PORT) },
  // Here a real gateway checks its session cookie. This one believes two headers.
  context: async ({ req }) => ({ viewer: req.headers['session-viewer'], scopes: req.headers['session-scopes'] }),
})
