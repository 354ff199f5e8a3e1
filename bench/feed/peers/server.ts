/**
 * A peer as a process of its own: bare `node:http`, which answers each request with the page of its `x-viewer-id` as JSON. It has neither
 * GraphQL nor tokens, so it is a lower bound of such a service. It ends with its parent.
 */
import { fork } from 'node:child_process'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { pathToFileURL } from 'node:url'
import { SHIPPED_ENVIRONMENT, SHIPPED_OPTIONS } from '../../../harness/deployment/role.ts'
import { makeFanOutReader } from './fan-out.ts'
import { makeSqlReader } from './sql.ts'

const READERS = { sql: makeSqlReader, 'fan-out': makeFanOutReader }
export type PeerName = keyof typeof READERS

export type PeerServer = { url: string; pid: number; stop(): void }

/** `store`: the address of its MariaDB or Redis. */
export async function startPeer(name: PeerName, store: string): Promise<PeerServer> {
  const child = fork(import.meta.filename, [name, store], {
    execArgv: SHIPPED_OPTIONS,
    env: { ...SHIPPED_ENVIRONMENT, ...process.env },
  })
  const url = await new Promise<string>((resolve, reject) => {
    child.once('message', (address) => resolve(address as string))
    child.once('exit', () => reject(new Error(`the peer ${name} ended`)))
  })
  return { url, pid: child.pid as number, stop: () => void child.kill('SIGKILL') }
}

function serve(name: PeerName, store: string): void {
  const read = READERS[name](store)
  const server = createServer((request, response) => {
    const answer = (status: number, body: string): void => {
      response.writeHead(status, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }).end(body)
    }
    request.resume()
    request.once('end', () => {
      read(String(request.headers['x-viewer-id'])).then(
        (page) => answer(200, JSON.stringify(page)),
        (error: unknown) => answer(500, String(error)),
      )
    })
  })
  server.listen(0, '127.0.0.1', () => process.send?.(`http://127.0.0.1:${(server.address() as AddressInfo).port}/page`))
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  process.on('disconnect', () => process.exit())
  const [name, store] = process.argv.slice(2) as [PeerName, string]
  serve(name, store)
}
