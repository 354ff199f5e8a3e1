/** Hive gateway that forwards the client's token to the subgraphs. Environment: SUPERGRAPH, a file; PORT; PLANNER, native or js. */
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { createGatewayRuntime } from '@graphql-hive/gateway-runtime'
import { unifiedGraphHandler } from '@graphql-hive/router-runtime'
import * as http from '@graphql-mesh/transport-http'

const gateway = createGatewayRuntime({
  supergraph: readFileSync(process.env.SUPERGRAPH, 'utf8'),
  transports: { http },
  ...(process.env.PLANNER === 'native' ? { unifiedGraphHandler } : {}),
  propagateHeaders: {
    fromClientToSubgraphs: ({ request }) => ({ authorization: request.headers.get('authorization') }),
  },
})
createServer(gateway).listen(Number(process.env.PORT), '127.0.0.1')
