/** One question over TCP, to learn whether a server answers, without its client library. */
import { connect } from 'node:net'

const WAIT_MS = 1_000

/** Sends `question`. Resolves with the answer once `isWhole` accepts it, or with undefined after a second without one. */
export function ask(port: number, question: Buffer | string, isWhole: (answer: Buffer) => boolean): Promise<Buffer | undefined> {
  return new Promise((resolve) => {
    let answer = Buffer.alloc(0)
    const socket = connect(port, '127.0.0.1', () => socket.write(question))
    const end = (result: Buffer | undefined) => {
      socket.destroy()
      resolve(result)
    }
    socket.setTimeout(WAIT_MS, () => end(undefined))
    socket.on('data', (chunk: Buffer) => {
      answer = Buffer.concat([answer, chunk])
      if (isWhole(answer)) end(answer)
    })
    socket.on('error', () => end(undefined))
    socket.on('close', () => end(undefined))
  })
}

/** Does a process accept connections on this port? */
export function isTaken(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.destroy()
      resolve(true)
    })
    socket.setTimeout(WAIT_MS, () => {
      socket.destroy()
      resolve(true)
    })
    socket.on('error', () => resolve(false))
  })
}
