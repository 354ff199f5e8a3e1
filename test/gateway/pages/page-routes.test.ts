import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { request } from 'node:http'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startServer, type TestServer } from '../../support/front-schema.ts'

let server: TestServer
beforeAll(async () => {
  server = await startServer({ pages: ['home', 'demo'] })
})
afterAll(() => server.close())

/** A request with the path as it is. `fetch` would resolve its dots. */
async function statusOf(path: string): Promise<number | undefined> {
  const { hostname, port } = new URL(server.url)
  const call = request({ hostname, port, path })
  call.end()
  const [response] = (await once(call, 'response')) as [NodeJS.ReadableStream & { statusCode?: number }]
  await text(response)
  return response.statusCode
}

describe('the files of pages', () => {
  it('are those of the pages, and no others', async () => {
    for (const path of ['/', '/demo', '/pages/demo/main.js', '/pages/library/htm/dist/htm.mjs', '/examples/player-sdk/player.js'])
      expect([path, await statusOf(path)]).toEqual([path, 200])
    for (const path of [
      '/pages/../package.json',
      '/pages/%2e%2e/package.json',
      '/pages/..%2fpackage.json',
      '/pages/demo/../../cli/main.ts',
      '/pages/tsconfig.json',
      '/pages/library/htm/package.json',
      '/pages/library/htm/dist/../package.json',
      '/pages/library/htm/dist/%2e%2e/package.json',
      '/pages/library/fastify/dist/fastify.js',
      '/examples/clients/apollo.ts',
      '/examples/player-sdk/../clients/apollo.ts',
    ])
      expect([path, await statusOf(path)]).toEqual([path, 404])
  })

  it('have a tag that changes with all of their bytes, in each coding', async () => {
    for (const path of ['/', '/demo', '/pages/demo/main.js']) {
      for (const encoding of ['identity', 'gzip']) {
        const response = await fetch(server.url + path, { headers: { 'accept-encoding': encoding } })
        const body = Buffer.from(await response.arrayBuffer())
        const hash = createHash('sha256').update(body).digest('base64url').slice(0, 22)
        expect([path, response.headers.get('etag')]).toEqual([path, `W/"${hash}"`])
      }
    }
  })

  it('may reach this server only, and no server of a whole scheme', async () => {
    const policy = (await fetch(`${server.url}/demo`)).headers.get('content-security-policy') ?? ''
    const sources = policy.split(';').flatMap((directive) => directive.trim().split(' ').slice(1))
    expect(sources).toContain("'self'")
    expect(sources.filter((source) => !source.startsWith("'") && source !== 'data:')).toEqual([])
  })

  it('are not sent again to a browser that has them, with the headers that a cache needs', async () => {
    const first = await fetch(`${server.url}/demo`)
    const etag = first.headers.get('etag') ?? ''
    const again = await fetch(`${server.url}/demo`, { headers: { 'if-none-match': etag } })
    expect([again.status, await again.text()]).toEqual([304, ''])
    for (const name of ['etag', 'vary', 'cache-control', 'content-security-policy'])
      expect([name, again.headers.get(name)]).toEqual([name, first.headers.get(name)])
  })
})
