/** The least memory for a WebSocket of this protocol: `ws` and `graphql-ws` alone, for bench/gateway/open-bytes.bench.ts. */
import { createServer } from 'node:http'
import { buildSchema } from 'graphql'
import { handleProtocols, makeServer } from 'graphql-ws'
import { WebSocketServer } from 'ws'

const protocol = makeServer({ schema: buildSchema('type Query { a: Int }') })
const server = createServer()
new WebSocketServer({ server, handleProtocols }).on('connection', (socket) => {
  const closed = protocol.opened(
    {
      protocol: socket.protocol,
      send(message) {
        socket.send(message)
      },
      close: (code, reason) => socket.close(code, reason),
      onMessage: (receive) => void socket.on('message', (data: Buffer) => void receive(data.toString())),
    },
    {},
  )
  socket.on('close', (code, reason) => void closed(code, String(reason)))
})
server.listen(Number(process.argv[2]), '127.0.0.1', () => console.log('ready'))
