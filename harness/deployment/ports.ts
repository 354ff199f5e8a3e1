import { createServer } from 'node:net'

/** Each test worker has its own ports, because workers run concurrently and servers take seconds to listen. */
const FIRST = 20_000
const PER_WORKER = 3_000
const WORKERS = 4
const worker = Number(process.env['VITEST_POOL_ID'] ?? process.pid) % WORKERS
const given = new Set<number>()

/**
 * Free ports below the range of outgoing connections (32768 and up, on Linux). A port of that range could be taken by any client before its
 * server listens or while the server is killed, and the server could not start again.
 */
export async function freePorts(count: number): Promise<number[]> {
  const ports: number[] = []
  while (ports.length < count) {
    const port = FIRST + worker * PER_WORKER + Math.floor(Math.random() * PER_WORKER)
    if (given.has(port) || !(await isFree(port))) continue
    given.add(port)
    ports.push(port)
  }
  return ports
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(false))
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
  })
}
