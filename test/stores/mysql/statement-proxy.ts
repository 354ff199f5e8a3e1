/** A proxy to a server that lets a test see each statement before the server does, and hold it or cut the connection. */
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'

/** `cut` forwards the statement and closes the connection of the client before any answer. */
export type Verdict = 'pass' | 'cut'

export type StatementProxy = {
  url: string
  /** Called for each statement. At first all pass. */
  setJudge(judge: (sql: string) => Verdict | Promise<Verdict>): void
  close(): Promise<void>
}

const QUERY = 3
const HEADER_BYTES = 5

export async function makeStatementProxy(target: string): Promise<StatementProxy> {
  const to = new URL(target)
  const sockets = new Set<Socket>()
  let judge: (sql: string) => Verdict | Promise<Verdict> = () => 'pass'
  const server = createServer((client) => {
    const upstream = connect(Number(to.port), to.hostname)
    let cut = false
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.on('error', () => undefined)
      socket.on('close', () => {
        sockets.delete(socket)
        client.destroy()
        // A forwarded statement is executed before the server notices.
        setTimeout(() => upstream.destroy(), cut ? 300 : 0).unref()
      })
    }
    let forwarded = Promise.resolve()
    client.on('data', (bytes) => {
      forwarded = forwarded.then(async () => {
        const verdict = bytes[HEADER_BYTES - 1] === QUERY ? await judge(bytes.toString('latin1', HEADER_BYTES, 200)) : 'pass'
        if (verdict === 'cut') cut = true
        upstream.write(bytes)
        if (cut) client.destroy()
      })
    })
    upstream.on('data', (bytes) => {
      if (!cut) client.write(bytes)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = new URL(target)
  url.host = `127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    url: url.href,
    setJudge: (next) => void (judge = next),
    close: () =>
      new Promise((resolve) => {
        for (const socket of sockets) socket.destroy()
        server.close(() => resolve())
      }),
  }
}
