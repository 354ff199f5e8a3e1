/**
 * Hive gateway that knows its viewers itself, and names them to our subgraphs in a signed header. Environment: SUPERGRAPH, a file; PORT;
 * PLANNER, native or js; TIDEMARK_IDENTITY_SECRET.
 */
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { createGatewayRuntime } from '@graphql-hive/gateway-runtime'
import { unifiedGraphHandler } from '@graphql-hive/router-runtime'
import * as http from '@graphql-mesh/transport-http'
import { identityHeader } from './sign-identity.mjs'

const OURS = ['history', 'thumbup', 'feed-existence', 'feed']

const gateway = createGatewayRuntime({
  supergraph: readFileSync(process.env.SUPERGRAPH, 'utf8'),
  transports: { http },
  ...(process.env.PLANNER === 'native' ? { unifiedGraphHandler } : {}),
  propagateHeaders: {
    fromClientToSubgraphs({ request, subgraphName }) {
      // Here a real gateway checks its session cookie. This one believes two headers.
      const viewer = request.headers.get('session-viewer')
      if (viewer === null || !OURS.includes(subgraphName)) return {}
      return identityHeader(subgraphName, viewer, request.headers.get('session-scopes') ?? '')
    },
  },
})
createServer(gateway).listen(Number(process.env.PORT), '127.0.0.1')
