/** The 61 audits of graphql-http for servers, on both ways to read a request. Each passes without a notice. */
import { serverAudits } from 'graphql-http'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startServer, type TestServer } from '../../support/front-schema.ts'

const WAYS = [
  { name: 'with plain POSTs read directly', options: { direct: true } },
  { name: 'with plain POSTs read directly and results as text', options: { direct: true, toJson: true } },
  { name: 'with every request read by graphql-http', options: { direct: false } },
] as const

for (const { name, options } of WAYS) {
  describe(`GraphQL over HTTP, ${name}`, () => {
    let server: TestServer
    beforeAll(async () => {
      server = await startServer(options)
    })
    afterAll(() => server.close())

    for (const audit of serverAudits({ url: () => `${server.url}/graphql` })) {
      it(`${audit.id} ${audit.name}`, async () => {
        const result = await audit.fn()
        expect(result.status, 'reason' in result ? result.reason : '').toBe('ok')
      })
    }
  })
}
