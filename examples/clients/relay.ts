/**
 * Relay: `node relay.ts http://localhost:4000/graphql [article]`.
 *
 * Relay's store identifies an object by `id` alone. Tidemark's ids come from your businesses and are unique within their type: a video and an
 * article may have equal ids. `getDataID` therefore adds the type. If the ids of all businesses differ, Relay's default settings suffice.
 * The program shows both: by default the article has the id of the video, and the second argument gives it another id.
 */
import { createClient } from 'graphql-ws'
import {
  createOperationDescriptor,
  Environment,
  fetchQuery,
  commitMutation,
  Network,
  Observable,
  RecordSource,
  requestSubscription,
  Store,
} from 'relay-runtime'
import type { GraphQLTaggedNode, Variables } from 'relay-runtime'
import followOperation from './relay/__generated__/operationsFollowSubscription.graphql.ts'
import likeOperation from './relay/__generated__/operationsLikeMutation.graphql.ts'
import pageOperation from './relay/__generated__/operationsPageQuery.graphql.ts'
import removeOperation from './relay/__generated__/operationsRemoveMutation.graphql.ts'
import reportOperation from './relay/__generated__/operationsReportMutation.graphql.ts'
import { headersOf, ID, parametersOf, tell, URL_OF_API, type Client, type Page } from './story.ts'

function getDataID({ id }: { id?: unknown }, typeName: string): string | undefined {
  return typeof id === 'string' ? `${typeName}:${id}` : undefined
}

const ARTICLE = process.argv[3] ?? ID

function environmentOf(network: ReturnType<typeof Network.create>): Environment {
  const store = new Store(new RecordSource())
  if (ARTICLE !== ID) return new Environment({ network, store })
  return new Environment({ network, store, getDataID: getDataID as never })
}

function open(viewer: string): Client {
  let sent = 0
  const socket = createClient({ url: URL_OF_API.replace(/^http/, 'ws'), connectionParams: parametersOf(viewer) })
  const network = Network.create(
    async ({ text }, variables) => {
      sent += 1
      const headers = { 'content-type': 'application/json', accept: 'application/json', ...headersOf(viewer) }
      const response = await fetch(URL_OF_API, { method: 'POST', headers, body: JSON.stringify({ query: text, variables }) })
      return response.json() as never
    },
    ({ text }, variables) => Observable.create((sink) => socket.subscribe({ query: text ?? '', variables }, sink as never)),
  )
  const environment = environmentOf(network)
  const variables = { videos: [ID], articles: [ARTICLE] }

  function mutate(mutation: GraphQLTaggedNode, input: Variables): Promise<void> {
    return new Promise((resolve, reject) => {
      commitMutation(environment, { mutation, variables: input, onCompleted: () => resolve(), onError: reject })
    })
  }

  const shown = createOperationDescriptor(pageOperation, variables)
  // The store keeps the data of the page.
  environment.retain(shown)
  return {
    async load() {
      await fetchQuery(environment, pageOperation, variables).toPromise()
    },
    cached() {
      const { data, isMissingData } = environment.lookup(shown.fragment)
      return isMissingData ? undefined : (data as Page)
    },
    like: (business, id) => mutate(likeOperation, { business, id }),
    report: (business, id, position) => mutate(reportOperation, { business, id, position }),
    remove: (business, id) => mutate(removeOperation, { business, ids: [id] }),
    follow() {
      const { dispose } = requestSubscription(environment, { subscription: followOperation, variables: {} })
      return dispose
    },
    sent: () => sent,
    close: () => socket.dispose(),
  }
}

await tell(open, ARTICLE)
console.log('Relay: done')
