import { expect, it } from 'vitest'
import { forwardedOf, type Caller } from '../../../gateway/request/caller.ts'
import { makeSubgraphHeaders } from '../../../gateway/identity/identity-header.ts'
import { post, startServer } from '../../support/front-schema.ts'

it('only configured headers of the client reach subgraphs, and cookies and tokens only if they are configured', () => {
  const headers = { cookie: 'session=1', authorization: 'Bearer x', 'x-tenant': 'a', 'x-list': ['a', 'b'] }
  expect(forwardedOf(headers, [])).toBeUndefined()
  expect(forwardedOf(headers, ['x-tenant', 'x-absent', 'x-list'])).toEqual({ 'x-tenant': 'a' })
  expect(forwardedOf(headers, ['cookie'])).toEqual({ cookie: 'session=1' })
})

it('the context of a request carries forwarded headers to the transport', async () => {
  const callers: Caller[] = []
  const server = await startServer({
    more: {
      forwardHeaders: ['x-tenant'],
      makeContext: (viewer, _lasting, caller) => (callers.push(caller), { viewer, forwarded: caller.forwarded, number: 1 }),
    },
  })
  await post(server.url, { query: '{ hello }' }, { 'x-tenant': 'a', cookie: 'session=1', 'x-viewer-id': '7' })
  await server.close()
  const [caller] = callers
  const headers = makeSubgraphHeaders(undefined, 'partner')({ viewer: caller?.viewer, forwarded: caller?.forwarded })
  expect(headers).toEqual({ 'x-tenant': 'a' })
})
