/**
 * Operations by id, at a server that refuses all others (`persisted.mode: enforce`): `node persisted.ts http://localhost:4000/graphql`.
 *
 * `tidemark persist` makes the manifest of `persisted/` for `fetch`. Apollo Client adds `__typename` to each operation, so Apollo's own tool
 * makes the manifest for it. relay-compiler makes that of Relay. The server reads all three.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { ApolloClient, gql, HttpLink, InMemoryCache } from '@apollo/client'
import { PersistedQueryLink } from '@apollo/client/link/persisted-queries'
import { generatePersistedQueryIdsFromManifest } from '@apollo/persisted-query-lists'
import apolloManifest from './generated/apollo-manifest.json' with { type: 'json' }
import possible from './generated/possible-types.ts'
import manifest from './generated/manifest.json' with { type: 'json' }
import page from './generated/relay/operationsPageQuery.graphql.ts'
import { headersOf, ID, URL_OF_API } from './story.ts'

type Resume = { subjects: { id: string; viewerProgress: { position: number } | null }[] }

/** With `fetch`. */
const ids = new Map<string, string>(manifest.operations.map(({ name, id }) => [name, id]))

async function call(body: object): Promise<{ data?: unknown; errors?: { extensions: { code: string } }[] }> {
  const headers = { 'content-type': 'application/json', accept: 'application/json', ...headersOf('persisted') }
  const response = await fetch(URL_OF_API, { method: 'POST', headers, body: JSON.stringify(body) })
  return response.json() as never
}

function callById(name: string, variables: object) {
  return call({ documentId: `sha256:${ids.get(name)}`, variables })
}

assert.equal((await callById('Report', { id: ID, position: 60_000 })).errors, undefined)
const { data } = (await callById('Resume', { ids: [ID] })) as { data: Resume }
assert.equal(data.subjects[0]?.viewerProgress?.position, 60_000)
const feed = (await callById('HomeFeed', {})) as { data: { homeFeed: { edges: unknown[]; pageInfo: { endCursor: string | null } } } }
assert.deepEqual(feed.data.homeFeed, { edges: [], pageInfo: { hasNextPage: false, endCursor: null } })
console.log('fetch: done')

/** With Apollo Client. */
const client = new ApolloClient({
  cache: new InMemoryCache({ possibleTypes: possible.possibleTypes }),
  link: new PersistedQueryLink(generatePersistedQueryIdsFromManifest({ loadManifest: () => apolloManifest })).concat(
    new HttpLink({ uri: URL_OF_API, headers: headersOf('persisted') }),
  ),
})
// A bundler does this for `import … from './resume.graphql'`.
const operation = (name: string) => gql(['position', name].map((file) => readFileSync(`persisted/${file}.graphql`, 'utf8')).join('\n'))

await client.query({ query: operation('resume'), variables: { ids: [ID] } })
await client.mutate({ mutation: operation('report'), variables: { id: ID, position: 90_000 } })
const cached = client.readQuery<Resume>({ query: operation('resume'), variables: { ids: [ID] } })
assert.equal(cached?.subjects[0]?.viewerProgress?.position, 90_000)
console.log('Apollo Client: done')

/** With Relay: the compiler has put the id into the generated operation. */
const byRelay = await call({ doc_id: page.params.id, variables: { videos: [ID], articles: [ID] } })
assert.equal(byRelay.errors, undefined)
console.log('Relay: done')

const { errors } = await call({ query: '{ historySettings { paused } }' })
assert.equal(errors?.[0]?.extensions.code, 'PERSISTED_QUERY_NOT_IN_LIST')
console.log('any other operation: refused')
