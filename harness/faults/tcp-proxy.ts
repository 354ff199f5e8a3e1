/**
 * A TCP proxy in front of one server. It can cut the network in two ways:
 * - broken: connections end, and new ones end at once, as with a rejecting firewall or a stopped server.
 * - silent: nothing passes, without notice, as with a pulled cable. Once the network is repaired, the delayed data and ends of connections
 *   pass, as with TCP.
 *
 * It can also be slow: each chunk of an answer is late.
 */
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

export type Cut = 'broken' | 'silent'

export type TcpProxy = {
  port: number
  cut(kind: Cut): void
  /** The next request arrives, its answer is lost, and then the network is broken. Resolves at that point. */
  loseNextAnswer(): Promise<void>
  mend(): void
  /** Each chunk of an answer passes this many milliseconds late. 0: at once. */
  slow(ms: number): void
  /** The number of chunks that clients have sent so far: one per write, if writes are small. */
  sent(): number
  close(): Promise<void>
}

type State = 'whole' | Cut

export async function makeTcpProxy(targetPort: number): Promise<TcpProxy> {
  const sockets = new Set<Socket>()
  const heldBack: (() => void)[] = []
  let state: State = 'whole'
  let answerLost: (() => void) | undefined
  let sent = 0
  let lateMs = 0

  const server = createServer((client) => {
    if (state === 'broken') {
      client.destroy()
      return
    }
    const target = connect(targetPort, '127.0.0.1')
    join(client, target, false)
    join(target, client, true)
  })

  function join(from: Socket, to: Socket, isAnswer: boolean): void {
    sockets.add(from)
    from.setNoDelay(true)
    if (state === 'silent') from.pause()
    /** Late chunks that are still here. A stream keeps its order: none passes them, also after `slow(0)`. */
    let waiting = Promise.resolve()
    let late = 0
    const writeLate = async (chunk: Buffer, before: Promise<void>, due: Promise<unknown>): Promise<void> => {
      await Promise.all([before, due])
      late -= 1
      to.write(chunk)
    }
    from.on('data', (chunk) => {
      if (!isAnswer) sent += 1
      if (answerLost !== undefined && isAnswer) {
        cut('broken')
        answerLost()
        answerLost = undefined
      } else if (isAnswer && (lateMs > 0 || late > 0)) {
        late += 1
        waiting = writeLate(chunk, waiting, sleep(lateMs))
      } else if (!to.write(chunk)) from.pause()
    })
    to.on('drain', () => {
      if (state !== 'silent') from.resume()
    })
    from.on('error', () => undefined)
    from.on('close', () => {
      sockets.delete(from)
      if (state === 'silent') heldBack.push(() => to.destroy())
      else to.destroy()
    })
  }

  function cut(kind: Cut): void {
    state = kind
    for (const socket of sockets) {
      if (kind === 'silent') socket.pause()
      else socket.destroy()
    }
  }

  function mend(): void {
    state = 'whole'
    for (const socket of sockets) socket.resume()
    for (const tell of heldBack.splice(0)) tell()
  }

  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    port: (server.address() as AddressInfo).port,
    cut,
    loseNextAnswer: () =>
      new Promise((resolve) => {
        answerLost = resolve
      }),
    mend,
    slow(ms) {
      lateMs = ms
    },
    sent: () => sent,
    async close() {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
