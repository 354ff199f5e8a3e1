/** Apollo Client, with the default settings of its cache: `node apollo.ts http://localhost:4000/graphql`. */
import assert from 'node:assert/strict'
import { ApolloClient, ApolloLink, CombinedGraphQLErrors, HttpLink, InMemoryCache, gql } from '@apollo/client'
import { GraphQLWsLink } from '@apollo/client/link/subscriptions'
import { relayStylePagination } from '@apollo/client/utilities'
import { createClient } from 'graphql-ws'
import generated from './generated/possible-types.ts'
import { CARDS, CLEAR, FOLLOW, HISTORY, LIKE, PAGE, PARTLY, REMOVE, REPORT } from './operations.ts'
import { headersOf, ID, parametersOf, tell, URL_OF_API, type Client, type Page } from './story.ts'

function makeClient(viewer: string, cache = new InMemoryCache()) {
  let sent = 0
  const socket = createClient({ url: URL_OF_API.replace(/^http/, 'ws'), connectionParams: parametersOf(viewer) })
  const count = new ApolloLink((operation, forward) => {
    sent += 1
    return forward(operation)
  })
  const http = new HttpLink({ uri: URL_OF_API, headers: headersOf(viewer) })
  const link = ApolloLink.split(({ operationType }) => operationType === 'subscription', new GraphQLWsLink(socket), http)
  const client = new ApolloClient({ cache, link: ApolloLink.from([count, link]) })
  return {
    client,
    sent: () => sent,
    close() {
      client.stop()
      return socket.dispose()
    },
  }
}

const page = { query: gql(PAGE), variables: { ids: [ID] } }

function open(viewer: string): Client {
  const { client, sent, close } = makeClient(viewer)
  return {
    async load() {
      await client.query({ ...page, fetchPolicy: 'network-only' })
    },
    cached: () => client.readQuery<Page>(page) ?? undefined,
    async like(business, id) {
      await client.mutate({ mutation: gql(LIKE), variables: { business, id } })
    },
    async report(business, id, position) {
      await client.mutate({ mutation: gql(REPORT), variables: { business, id, position } })
    },
    async remove(business, id) {
      await client.mutate({ mutation: gql(REMOVE), variables: { business, ids: [id] } })
    },
    follow() {
      // The events need no code: the cache takes the subject of each event.
      const subscription = client.subscribe({ query: gql(FOLLOW) }).subscribe({ next: () => undefined })
      return () => subscription.unsubscribe()
    },
    sent,
    close,
  }
}

/** An optimistic like: the button changes at once, and changes back if the server refuses. */
async function likeOptimistically(): Promise<void> {
  const { client, close } = makeClient(`optimist-${Date.now()}`)
  await client.query(page)
  const { videos } = client.readQuery<Page>(page) as Page
  const [video] = videos
  const done = client.mutate({
    mutation: gql(LIKE),
    variables: { business: 'video', id: ID },
    optimisticResponse: {
      setMark: {
        __typename: 'SetMarkPayload',
        outcome: 'ACCEPTED',
        userErrors: [],
        subject: { __typename: 'Video', id: ID, viewerMark: 'LIKE', likeCount: (video?.likeCount ?? 0) + 1 },
      },
    },
  })
  assert.equal(client.cache.readQuery<Page>(page, true)?.videos[0]?.viewerMark, 'LIKE', 'before the answer')
  await done
  assert.equal(client.readQuery<Page>(page)?.videos[0]?.viewerMark, 'LIKE', 'after it')
  await close()
}

type Entry = { node: { id: string; viewerProgress: object | null } | null }
type History = { viewerHistory: { edges: Entry[]; pageInfo: { endCursor: string } } }

/** Pages of the history, one list in the cache. */
async function pageThroughHistory(): Promise<void> {
  const cache = new InMemoryCache({ typePolicies: { Query: { fields: { viewerHistory: relayStylePagination(['businesses']) } } } })
  const viewer = `pages-${Date.now()}`
  const { client, close } = makeClient(viewer, cache)
  for (const id of ['1', '2', '3']) {
    await client.mutate({ mutation: gql(REPORT), variables: { business: 'video', id, position: 60_000 } })
  }
  const history = client.watchQuery<History>({ query: gql(HISTORY) })
  const watching = history.subscribe(() => undefined)
  const { data } = await client.query<History>({ query: gql(HISTORY) })
  await history.fetchMore({ variables: { after: data?.viewerHistory.pageInfo.endCursor } })
  const shown = () => {
    const edges = client.readQuery<History>({ query: gql(HISTORY) })?.viewerHistory.edges ?? []
    return edges.filter(({ node }) => node?.viewerProgress != null).map(({ node }) => node?.id)
  }
  assert.deepEqual(shown(), ['3', '2', '1'])

  // The list keeps the entry of a deleted subject, without progress: `shown` leaves it out.
  await client.mutate({ mutation: gql(REMOVE), variables: { business: 'video', ids: ['2'] } })
  assert.deepEqual(shown(), ['3', '1'])

  // A clearing returns no subjects: fetch what the page shows.
  await client.mutate({ mutation: gql(CLEAR), variables: { business: 'video' }, refetchQueries: ['History'], awaitRefetchQueries: true })
  assert.deepEqual(shown(), [])
  watching.unsubscribe()
  await close()
}

/** A fragment on `Subject` needs the list of its types, which graphql-codegen makes. */
async function useFragment(): Promise<void> {
  const cache = new InMemoryCache({ possibleTypes: generated.possibleTypes })
  const { client, close } = makeClient(`fragment-${Date.now()}`, cache)
  const cards = { query: gql(CARDS), variables: { ids: [ID] } }
  const { data } = await client.query<{ subjects: { business: string }[] }>(cards)
  assert.equal(data?.subjects[0]?.business, 'video')
  await close()
}

/** One field fails. `errorPolicy: 'all'` keeps the data of all others; the default throws it away. */
async function keepPartialData(): Promise<void> {
  const { client, close } = makeClient(`partly-${Date.now()}`)
  const partly = { query: gql(PARTLY), variables: { ids: [ID] } }
  await assert.rejects(client.query(partly))
  const { data, error } = await client.query<{ subjects: { id: string }[] }>({ ...partly, errorPolicy: 'all' })
  assert.equal(data?.subjects[0]?.id, ID)
  assert.ok(CombinedGraphQLErrors.is(error))
  assert.equal(error.errors[0]?.extensions?.['code'], 'FIRST_INVALID')
  await close()
}

await tell(open)
await likeOptimistically()
await pageThroughHistory()
await useFragment()
await keepPartialData()
console.log('Apollo Client: done')
