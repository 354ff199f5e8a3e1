/** urql with Graphcache, with the default settings of its cache: `node urql.ts http://localhost:4000/graphql`. */
import assert from 'node:assert/strict'
import { Client as UrqlClient, fetchExchange, gql, mapExchange, subscriptionExchange } from '@urql/core'
import { cacheExchange, type CacheExchangeOpts } from '@urql/exchange-graphcache'
import { relayPagination } from '@urql/exchange-graphcache/extras'
import { createClient } from 'graphql-ws'
import { FOLLOW, HISTORY, LIKE, PAGE, REMOVE, REPORT } from './operations.ts'
import { headersOf, ID, parametersOf, tell, URL_OF_API, type Client, type Page } from './story.ts'

function makeClient(viewer: string, settings: Partial<CacheExchangeOpts> = {}) {
  let sent = 0
  const socket = createClient({ url: URL_OF_API.replace(/^http/, 'ws'), connectionParams: parametersOf(viewer) })
  const client = new UrqlClient({
    url: URL_OF_API,
    preferGetMethod: false,
    fetchOptions: { headers: headersOf(viewer) },
    exchanges: [
      cacheExchange(settings),
      mapExchange({
        onOperation({ kind }) {
          if (kind !== 'teardown') sent += 1
        },
      }),
      fetchExchange,
      subscriptionExchange({
        forwardSubscription: ({ query = '', variables }) => ({
          subscribe: (sink) => ({
            unsubscribe: socket.subscribe({ query, variables: variables as Record<string, unknown> }, sink as never),
          }),
        }),
      }),
    ],
  })
  return { client, sent: () => sent, close: () => socket.dispose() }
}

const page = gql<Page>(PAGE)
const variables = { ids: [ID] }

function withoutTypes<T>(value: T): T {
  return JSON.parse(JSON.stringify(value), (key, each: unknown) => (key === '__typename' ? undefined : each)) as T
}

function open(viewer: string): Client {
  const { client, sent, close } = makeClient(viewer)
  async function mutate(mutation: string, input: object): Promise<void> {
    const { error } = await client.mutation(gql(mutation), input).toPromise()
    assert.equal(error, undefined)
  }
  return {
    async load() {
      await client.query(page, variables, { requestPolicy: 'network-only' }).toPromise()
    },
    cached() {
      const data = client.readQuery<Page>(page, variables, { requestPolicy: 'cache-only' })?.data
      return data == null ? undefined : withoutTypes(data)
    },
    like: (business, id) => mutate(LIKE, { business, id }),
    report: (business, id, position) => mutate(REPORT, { business, id, position }),
    remove: (business, id) => mutate(REMOVE, { business, ids: [id] }),
    follow() {
      const { unsubscribe } = client.subscription(gql(FOLLOW), {}).subscribe(() => undefined)
      return unsubscribe
    },
    sent,
    close,
  }
}

/** An optimistic like: the button changes at once, and changes back if the server refuses. */
async function likeOptimistically(): Promise<void> {
  const { client, close } = makeClient(`optimist-${Date.now()}`, {
    optimistic: {
      setMark: (_, cache) => {
        const key = cache.keyOfEntity({ __typename: 'Video', id: ID }) as string
        const likeCount = Number(cache.resolve(key, 'likeCount')) + 1
        const subject = { __typename: 'Video', id: ID, viewerMark: 'LIKE', likeCount }
        return { __typename: 'SetMarkPayload', outcome: 'ACCEPTED', userErrors: [], subject }
      },
    },
  })
  await client.query(page, variables).toPromise()
  const done = client.mutation(gql(LIKE), { business: 'video', id: ID }).toPromise()
  assert.equal(client.readQuery<Page>(page, variables)?.data?.videos[0]?.viewerMark, 'LIKE', 'before the answer')
  await done
  assert.equal(client.readQuery<Page>(page, variables)?.data?.videos[0]?.viewerMark, 'LIKE', 'after it')
  await close()
}

/** Pages of the history, one list in the cache. */
async function pageThroughHistory(): Promise<void> {
  const { client, close } = makeClient(`pages-${Date.now()}`, { resolvers: { Query: { viewerHistory: relayPagination() } } })
  for (const id of ['1', '2', '3']) await client.mutation(gql(REPORT), { business: 'video', id, position: 60_000 }).toPromise()
  type History = { viewerHistory: { edges: { node: { id: string } }[]; pageInfo: { endCursor: string } } }
  const history = gql<History>(HISTORY)
  const first = await client.query(history, {}).toPromise()
  const after = first.data?.viewerHistory.pageInfo.endCursor
  const both = await client.query(history, { after }).toPromise()
  assert.deepEqual(
    both.data?.viewerHistory.edges.map(({ node }) => node.id),
    ['3', '2', '1'],
  )
  await close()
}

await tell(open)
await likeOptimistically()
await pageThroughHistory()
console.log('urql: done')
