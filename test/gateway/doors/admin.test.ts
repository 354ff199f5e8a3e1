/** The listener for operators beside that of the API. */
import { request as send } from 'node:http'
import { afterEach, expect, test } from 'vitest'
import { freePorts } from '../../../harness/deployment/ports.ts'
import { startServer, type TestServer } from '../../support/front-schema.ts'

const servers: TestServer[] = []
afterEach(() => Promise.all(servers.splice(0).map((server) => server.close())))

async function start(options: Parameters<typeof startServer>[0] = {}): Promise<{ api: string; admin: string }> {
  const [port] = (await freePorts(1)) as [number]
  const server = await startServer({ admin: { host: '127.0.0.1', port }, ...options })
  servers.push(server)
  return { api: server.url, admin: `http://127.0.0.1:${port}` }
}

const statusOf = async (url: string): Promise<number> => (await fetch(url)).status

test('metrics are at the listener for operators alone, and health checks at both', async () => {
  const { api, admin } = await start()
  expect(await (await fetch(`${admin}/metrics`)).text()).toContain('tidemark_gateway_requests_total')
  expect(await Promise.all([`${api}/metrics`, `${admin}/graphql`].map(statusOf))).toEqual([404, 404])
  const health = [api, admin].flatMap((origin) => [`${origin}/health/live`, `${origin}/health/ready`])
  expect(await Promise.all(health.map(statusOf))).toEqual([200, 200, 200, 200])
  expect(await (await fetch(`${api}/metrics`)).text()).not.toContain('metrics at /metrics')
})

test('a foreign host name is refused in development, as at the API', async () => {
  const { admin } = await start()
  const status = await new Promise((resolve, reject) => {
    const request = send(`${admin}/metrics`, { headers: { host: 'attacker.example' } }, (response) => {
      response.resume()
      resolve(response.statusCode)
    })
    request.on('error', reject).end()
  })
  expect(status).toBe(403)
})

test('a port that is in use ends the start with the name of the setting', async () => {
  const { admin } = await start()
  const port = Number(new URL(admin).port)
  await expect(start({ admin: { host: '127.0.0.1', port } })).rejects.toThrow(
    `server.admin.port ${port} of 127.0.0.1 is in use: stop the process that listens there, or choose another with TIDEMARK_ADMIN_PORT`,
  )
})
