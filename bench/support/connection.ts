/**
 * A keep-alive connection to an HTTP address, with one request in flight. It implements only the needed part of HTTP/1.1 over a bare socket.
 * That keeps a load cheap, because it shares the machine's cores with the service.
 */
import { connect } from 'node:net'

export type Answer = { status: number; body: string }

export type Connection = {
  /** Rejects if the connection ends before the answer. */
  call(headers: Record<string, string>, body: string | Buffer): Promise<Answer>
  /** A call in flight is rejected. */
  close(): void
}

const HEADER_END = Buffer.from('\r\n\r\n')
const LAST_CHUNK = Buffer.from('\r\n0\r\n\r\n')

export function openConnection(url: string): Connection {
  const { hostname, port, pathname } = new URL(url)
  const head = `POST ${pathname} HTTP/1.1\r\nhost: ${hostname}:${port}\r\ncontent-type: application/json\r\naccept: application/json\r\n`
  const socket = connect(Number(port), hostname)
  let received: Buffer = Buffer.alloc(0)
  let inFlight: PromiseWithResolvers<Answer> | undefined
  let ended: Error | undefined

  function end(error: Error): void {
    ended ??= error
    inFlight?.reject(ended)
    inFlight = undefined
  }

  socket.setNoDelay(true)
  socket.on('error', end)
  socket.on('close', () => end(new Error(`${url} closed the connection`)))
  socket.on('data', (chunk) => {
    received = received.length === 0 ? chunk : Buffer.concat([received, chunk])
    try {
      const answer = readAnswer(received)
      if (answer === undefined) return
      received = Buffer.alloc(0)
      const call = inFlight
      inFlight = undefined
      call?.resolve(answer)
    } catch (error) {
      end(error as Error)
      socket.destroy()
    }
  })
  return {
    call(headers, body) {
      if (ended !== undefined) return Promise.reject(ended)
      inFlight = Promise.withResolvers<Answer>()
      let lines = head
      for (const name in headers) lines += `${name}: ${headers[name]}\r\n`
      socket.cork()
      socket.write(`${lines}content-length: ${Buffer.byteLength(body)}\r\n\r\n`)
      socket.write(body)
      socket.uncork()
      return inFlight.promise
    },
    close: () => void socket.destroy(),
  }
}

/** The answer if it is complete. A chunked body is returned undecoded, with the lengths of its chunks. */
function readAnswer(received: Buffer): Answer | undefined {
  const end = received.indexOf(HEADER_END)
  if (end < 0) return undefined
  const head = received.toString('latin1', 0, end)
  const bodyStart = end + HEADER_END.length
  const status = Number(head.slice(9, 12))
  const length = /content-length: (\d+)/i.exec(head)
  if (length === null) {
    if (!/transfer-encoding: chunked/i.test(head)) throw new Error(`an answer without a length: ${head}`)
    return received.subarray(-LAST_CHUNK.length).equals(LAST_CHUNK) ? { status, body: received.toString('utf8', bodyStart) } : undefined
  }
  if (received.length < bodyStart + Number(length[1])) return undefined
  return { status, body: received.toString('utf8', bodyStart, bodyStart + Number(length[1])) }
}
