/** A TCP server that answers every request with the same bytes, and may then send a byte again and again. */
import { createServer, type AddressInfo, type Socket } from 'node:net'

export type RubbishServer = { address: string; /** The number of received chunks. */ requests(): number; close(): Promise<void> }

/** `trickleMs`: the interval between two further bytes, if there are any. */
export async function startRubbishServer(answer: Buffer, trickleMs?: number): Promise<RubbishServer> {
  const sockets = new Set<Socket>()
  let requests = 0
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => undefined)
    let trickle: NodeJS.Timeout | undefined
    socket.on('close', () => {
      clearInterval(trickle)
      sockets.delete(socket)
    })
    socket.on('data', () => {
      requests++
      socket.write(answer)
      if (trickleMs !== undefined) trickle ??= setInterval(() => socket.write('x'), trickleMs)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests: () => requests,
    close() {
      for (const socket of sockets) socket.destroy()
      return new Promise((resolve) => server.close(() => resolve()))
    },
  }
}
