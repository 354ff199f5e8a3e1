/** A TCP proxy that can drop the answers of a server, like a network that fails in one direction. */
import { type Socket, connect, createServer } from 'node:net'

export async function makeProxy(port: number, targetPort: number) {
  const sockets = new Set<Socket>()
  let isMute = false
  const server = createServer((client) => {
    const target = connect(targetPort, '127.0.0.1')
    for (const socket of [client, target]) {
      sockets.add(socket)
      socket.on('error', () => undefined)
      socket.on('close', () => {
        sockets.delete(socket)
        client.destroy()
        target.destroy()
      })
    }
    client.on('data', (chunk: Buffer) => target.write(chunk))
    target.on('data', (chunk: Buffer) => {
      if (!isMute) client.write(chunk)
    })
  })
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  return {
    mute: (wanted: boolean) => {
      isMute = wanted
    },
    async close(): Promise<void> {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
