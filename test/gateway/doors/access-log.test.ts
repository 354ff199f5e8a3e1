import { connect } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { post, startServer, type TestServer } from '../../support/front-schema.ts'

const servers: TestServer[] = []
afterEach(() => Promise.all(servers.splice(0).map((server) => server.close())))

type Line = { method: string; path: string; status: number; ms: number; bytes: number; isCut?: true }

async function start(accessLog: boolean): Promise<{ url: string; lines(): Line[] }> {
  const server = await startServer({ accessLog })
  servers.push(server)
  return { url: server.url, lines: () => server.logged.filter(({ msg }) => msg === 'request') as unknown as Line[] }
}

test('each request is one line, without its parameters', async () => {
  const { url, lines } = await start(true)
  await post(url, { query: '{ hello }' })
  await (await fetch(`${url}/graphql?query={secret}`)).text()
  await (await fetch(`${url}/nothing`)).text()
  await expect.poll(() => lines().length).toBe(3)
  expect(lines().map(({ method, path, status }) => [method, path, status])).toEqual([
    ['POST', '/graphql', 200],
    ['GET', '/graphql', 200],
    ['GET', '/nothing', 404],
  ])
  for (const { ms, bytes } of lines()) expect([ms >= 0, bytes > 100]).toEqual([true, true])
})

test('a request whose client leaves before the answer is marked', async () => {
  const { url, lines } = await start(true)
  const { port } = new URL(url)
  const socket = connect(Number(port), '127.0.0.1')
  socket.write('POST /graphql HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{')
  await new Promise((resolve) => setTimeout(resolve, 50))
  socket.destroy()
  await expect.poll(lines).toEqual([expect.objectContaining({ method: 'POST', isCut: true })])
})

test('without the setting there are no lines', async () => {
  const { url, lines } = await start(false)
  await post(url, { query: '{ hello }' })
  expect(lines()).toEqual([])
})
