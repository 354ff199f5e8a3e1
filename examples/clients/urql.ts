/** urql with Graphcache, with the default settings of its cache: `node urql.ts http://localhost:4000/graphql`. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { Client as UrqlClient, fetchExchange, gql, mapExchange, subscriptionExchange } from '@urql/core'
import { cacheExchange, type CacheExchangeOpts } from '@urql/exchange-graphcache'
import { relayPagination } from '@urql/exchange-graphcache/extras'
import { buildSchema, introspectionFromSchema } from 'graphql'
import { createClient } from 'graphql-ws'
import { CARDS, CLEAR, FOLLOW, HISTORY, LIKE, PAGE, PARTLY, REMOVE, REPORT } from './operations.ts'
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

type Entry = { node: { id: string; viewerProgress: object | null } | null }
type History = { viewerHistory: { edges: Entry[]; pageInfo: { endCursor: string } } }

/** Pages of the history, one list in the cache. */
async function pageThroughHistory(): Promise<void> {
  const { client, close } = makeClient(`pages-${Date.now()}`, {
    resolvers: { Query: { viewerHistory: relayPagination() } },
    updates: {
      Mutation: {
        // A clearing returns no subjects: forget all pages, and the page that shows them reads again.
        clearHistory(_result, _input, cache) {
          for (const { fieldName, arguments: page } of cache.inspectFields('Query')) {
            if (fieldName === 'viewerHistory') cache.invalidate('Query', fieldName, page)
          }
        },
      },
    },
  })
  for (const id of ['1', '2', '3']) await client.mutation(gql(REPORT), { business: 'video', id, position: 60_000 }).toPromise()
  const history = gql<History>(HISTORY)
  const first = await client.query(history, {}).toPromise()
  const after = first.data?.viewerHistory.pageInfo.endCursor
  await client.query(history, { after }).toPromise()
  const shown = async () => {
    const { data } = await client.query(history, {}).toPromise()
    const edges = data?.viewerHistory.edges ?? []
    return edges.filter(({ node }) => node?.viewerProgress != null).map(({ node }) => node?.id)
  }
  assert.deepEqual(await shown(), ['3', '2', '1'])

  // The list keeps the entry of a deleted subject, without progress: `shown` leaves it out.
  await client.mutation(gql(REMOVE), { business: 'video', ids: ['2'] }).toPromise()
  assert.deepEqual(await shown(), ['3', '1'])

  await client.mutation(gql(CLEAR), { business: 'video' }).toPromise()
  assert.deepEqual(await shown(), [])
  await close()
}

/**
 * Graphcache knows the types of `Subject` from a schema. In a bundler, import the introspection instead. Without a schema, Graphcache
 * guesses them: right here, but with a warning.
 */
async function useFragment(): Promise<void> {
  const schema = introspectionFromSchema(buildSchema(readFileSync('schema.graphql', 'utf8')))
  const { client, close } = makeClient(`fragment-${Date.now()}`, { schema: schema as never })
  const { data } = await client.query<{ subjects: { business: string }[] }>(gql(CARDS), { ids: [ID] }).toPromise()
  assert.equal(data?.subjects[0]?.business, 'video')
  await close()
}

/** One field fails: its data is null, and all others have theirs. */
async function keepPartialData(): Promise<void> {
  const { client, close } = makeClient(`partly-${Date.now()}`)
  const { data, error } = await client.query<{ subjects: { id: string }[] }>(gql(PARTLY), { ids: [ID] }).toPromise()
  assert.equal(data?.subjects[0]?.id, ID)
  assert.equal(error?.graphQLErrors[0]?.extensions['code'], 'FIRST_INVALID')
  await close()
}

await tell(open)
await likeOptimistically()
await pageThroughHistory()
await useFragment()
await keepPartialData()
console.log('urql: done')
