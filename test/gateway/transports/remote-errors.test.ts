/** The errors of remote subgraphs that clients see, at every door, in production. */
import { createClient } from 'graphql-ws'
import { afterEach, describe, expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { post, startServer } from '../../support/front-schema.ts'
import type { TestServer } from '../../support/front-schema.ts'
import { json } from './http-subgraph.ts'
import type { Handler } from './http-subgraph.ts'
import { openRemoteGraph } from './remote-graph.ts'

const SECRET = /hunter2|SELECT|serviceName|accounts-7/
const errorAt = (path: (string | number)[] | undefined, code: string | undefined = 'INTERNAL_SERVER_ERROR') => ({
  message: 'ER_NO: SELECT secret FROM t; pw=hunter2',
  ...(path === undefined ? {} : { path }),
  extensions: { ...(code === undefined ? {} : { code }), sql: 'SELECT secret', serviceName: 'accounts-7', debug: { pw: 'hunter2' } },
})
const WITHHELD = { message: expect.stringMatching(/^a subgraph failed, see the server's log with id [0-9a-f-]{36}$/) as string }

const closing: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

async function serverWith(
  handlers: Parameters<typeof openRemoteGraph>[0],
  { mode = 'production', codes }: { mode?: 'production' | 'development'; codes?: string[] } = {},
): Promise<TestServer> {
  const { engine } = await openRemoteGraph(handlers)
  const more = {
    identify: () => Promise.resolve(undefined),
    makeContext: () => ({}),
    ...(codes === undefined ? {} : { remoteErrorCodes: codes }),
  }
  const server = await startServer({
    engine,
    mode,
    more,
    auth: { secret: 'a secret of at least thirty-two bytes' },
  })
  closing.push(server.close)
  return server
}

const numbersWith =
  (...errors: unknown[]): Handler =>
  (_, response) =>
    json(response, { data: { numbers: null }, errors })
const events =
  (...results: unknown[]): Handler =>
  (_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.end(`${results.map((result) => `event: next\ndata: ${JSON.stringify(result)}\n\n`).join('')}event: complete\n\n`)
  }

describe('an error of a remote subgraph', () => {
  test('an error with an unlisted code shows an id, and the log has all of it under that id, by POST, by GET and over an event stream', async () => {
    const server = await serverWith({ catalog: numbersWith(errorAt(['numbers'])) })
    const expected = { data: { numbers: null }, errors: [{ ...WITHHELD, path: ['numbers'], extensions: { code: 'SUBGRAPH_ERROR' } }] }
    const { json: posted } = await post(server.url, { query: '{ numbers }' })
    expect(posted).toEqual(expected)
    expect(await (await fetch(`${server.url}/graphql?query=%7Bnumbers%7D`)).json()).toEqual(expected)
    const headers = { accept: 'text/event-stream', 'content-type': 'application/json' }
    const streamed = await (await fetch(`${server.url}/graphql`, { method: 'POST', headers, body: '{"query":"{ numbers }"}' })).text()
    expect(streamed).toContain('a subgraph failed')
    expect(streamed).not.toMatch(SECRET)
    const id = /id (.*)$/.exec(posted.errors?.[0]?.message ?? '')?.[1]
    expect(server.logged.filter((line) => line['id'] === id)).toMatchObject([
      { subgraph: 'catalog', errors: [{ message: 'ER_NO: SELECT secret FROM t; pw=hunter2', extensions: { sql: 'SELECT secret' } }] },
    ])
  })

  test('an error without a code, or about the document, is not shown, and one that allows a retry keeps its code', async () => {
    for (const code of [undefined, 'GRAPHQL_VALIDATION_FAILED', 'INTERNAL', 'SUBGRAPH_ERROR', 'constructor']) {
      const server = await serverWith({ catalog: numbersWith({ ...errorAt(['numbers']), extensions: { code } }) })
      const { json: answer } = await post(server.url, { query: '{ numbers }' })
      expect(answer.errors).toEqual([{ ...WITHHELD, path: ['numbers'], extensions: { code: 'SUBGRAPH_ERROR' } }])
    }
    const server = await serverWith({ catalog: numbersWith(errorAt(['numbers'], 'HOT_STORE_UNAVAILABLE')) })
    const { json: answer } = await post(server.url, { query: '{ numbers }' })
    expect(answer.errors).toEqual([{ ...WITHHELD, path: ['numbers'], extensions: { code: 'HOT_STORE_UNAVAILABLE', retryable: true } }])
  })

  test('an error with a listed code keeps its message, and of its extensions only the code', async () => {
    const said = (code: string) => ({ ...errorAt(['numbers'], code), message: `said ${code}` })
    const shown = async (codes?: string[]) => {
      const server = await serverWith(
        { catalog: numbersWith(said('BAD_USER_INPUT'), said('MOVIE_UNKNOWN')) },
        codes === undefined ? {} : { codes },
      )
      return (await post(server.url, { query: '{ numbers }' })).json.errors?.map(({ message, extensions }) => [message, extensions])
    }
    const withheld = [WITHHELD.message, { code: 'SUBGRAPH_ERROR' }]
    expect(await shown()).toEqual([['said BAD_USER_INPUT', { code: 'BAD_USER_INPUT' }], withheld])
    expect(await shown(['MOVIE_UNKNOWN'])).toEqual([withheld, ['said MOVIE_UNKNOWN', { code: 'MOVIE_UNKNOWN' }]])
    expect(await shown([])).toEqual([withheld, withheld])
  })

  test('an error about an entity is withheld at each of its places, and logged once', async () => {
    const history: Handler = (_, response) =>
      json(response, { data: null, errors: [errorAt(['_entities', 0]), errorAt(['_entities', 1, 'viewerProgress']), errorAt(undefined)] })
    const server = await serverWith({ history })
    const { json: answer } = await post(server.url, { query: '{ feed { id viewerProgress { position } } }' })
    expect(answer.data).toMatchObject({ feed: [{ viewerProgress: null }, { viewerProgress: null }, { viewerProgress: null }] })
    expect(answer.errors?.length).toBeGreaterThan(2)
    expect(JSON.stringify(answer)).not.toMatch(SECRET)
    expect(new Set(answer.errors?.map(({ message }) => message)).size).toBe(1)
    expect(server.logged.filter(({ subgraph, errors }) => subgraph === 'history' && errors !== undefined)).toHaveLength(1)
  })

  test('an error in an event of a subscription, or instead of one, is withheld over event streams and WebSocket', async () => {
    const query = 'subscription { added(count: 1) { id } }'
    const refused: Handler = (_, response) => json(response, { errors: [errorAt(undefined)] }, 500)
    for (const catalog of [events({ data: null, errors: [errorAt(['added'])] }), refused]) {
      const server = await serverWith({ catalog })
      const headers = { accept: 'text/event-stream', 'content-type': 'application/json' }
      const streamed = await (await fetch(`${server.url}/graphql`, { method: 'POST', headers, body: JSON.stringify({ query }) })).text()
      const client = createClient({ url: `${server.url.replace('http', 'ws')}/graphql`, webSocketImpl: WebSocket, retryAttempts: 0 })
      let overSocket = ''
      try {
        for await (const result of client.iterate({ query })) overSocket += JSON.stringify(result)
      } catch (thrown) {
        overSocket += JSON.stringify(thrown)
      }
      await client.dispose()
      for (const text of [streamed, overSocket]) {
        expect(text).toContain('a subgraph failed, see the server')
        expect(text).not.toMatch(SECRET)
      }
    }
  })

  test('an error is shown unchanged in development', async () => {
    const server = await serverWith({ catalog: numbersWith(errorAt(['numbers'])) }, { mode: 'development' })
    expect((await post(server.url, { query: '{ numbers }' })).json.errors).toEqual([errorAt(['numbers'])])
  })

  test('an error at a place outside the operation has no path', async () => {
    const server = await serverWith({ catalog: numbersWith({ ...errorAt(['nowhere', 1]), extensions: { code: 'FORBIDDEN' } }) })
    const { json: answer } = await post(server.url, { query: '{ feed { id } }' })
    expect(answer.errors).toContainEqual({
      message: 'ER_NO: SELECT secret FROM t; pw=hunter2',
      extensions: { code: 'FORBIDDEN' },
    })
  })
})
