/** Serves the subgraph on PORT (default 4101; 0 picks a free one). */
import { createServer } from 'node:http'
import { createHandler } from 'graphql-http/lib/use/http'
import { schema } from './subgraph.js'

const handle = createHandler({ schema })
const server = createServer((request, response) => void handle(request, response))
server.listen(Number(process.env.PORT ?? 4101), '127.0.0.1', () => {
  console.log(`The partner's subgraph is ready: http://127.0.0.1:${server.address().port}/`)
})
process.on('SIGTERM', () => server.close())
