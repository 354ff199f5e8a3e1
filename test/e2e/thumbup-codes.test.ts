/** The descriptions of schema/thumbup.graphql name the codes of each field. The running gateway answers with these and with no others. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse, visit } from 'graphql'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ask, makeServiceFolder, startService, type Service } from '../../harness/deployment/service.ts'

const SDL = parse(readFileSync(join(import.meta.dirname, '..', '..', 'schema', 'thumbup.graphql'), 'utf8'))
const CODE = /[A-Z]{2,}(?:_[A-Z]+)+|FORBIDDEN|UNAUTHENTICATED/g
/** Only with a store down: test/subgraphs/thumbup/outages.test.ts. */
const OF_OUTAGES = new Set(['RECORD_STORE_UNAVAILABLE', 'HOT_STORE_UNAVAILABLE', 'STORE_FULL'])

/** The codes behind "Errors:" of a field, or in the whole of a description about codes. */
function named(place: string): string[] {
  let text = ''
  let type = ''
  visit(SDL, {
    ObjectTypeDefinition(node) {
      type = node.name.value
    },
    FieldDefinition(node) {
      if (`${type}.${node.name.value}` === place) text = node.description?.value ?? ''
    },
  })
  const codes = (text.split('Errors:')[1] ?? text).match(CODE) ?? []
  return codes.filter((code) => !OF_OUTAGES.has(code)).toSorted()
}

const list = (count: number, item: unknown = 'a') => Array.from({ length: count }, () => item)
const MARK = 'mutation ($i: [MarkInput!]!) { markBatch(inputs: $i) { code } }'
const ONE = 'mutation ($b: String = "video", $i: ID = "a", $m: Mark!) { setMark(input: { business: $b, id: $i, mark: $m }) { code } }'
const REGISTER = 'mutation ($b: String, $i: [SubjectInput!]!) { registerSubjects(business: $b, inputs: $i) { code } }'
const REGISTERER = { 'x-viewer-scopes': 'subjects:register' }
const RECOUNT = 'query ($b: String = "video", $i: [ID!] = ["a"]) { reconcile(business: $b, ids: $i) { checked } }'
const OPERATOR = { 'x-viewer-scopes': 'operator' }
const READ = (fields: string) => `query ($b: String = "video", $i: [ID!] = ["a"]) { subjects(business: $b, ids: $i) { ${fields} } }`
const LIKES = (args: string) => `{ thumbupUser { likes(${args}) { edges { cursor } } } }`

type Try = [query: string, variables?: Record<string, unknown>, headers?: Record<string, string>, viewer?: string | null]
const mark = (more: object, ...others: object[]): Try => [
  MARK,
  { i: [more, ...others].map((each) => ({ business: 'video', id: 'a', mark: 'LIKE', ...each })) },
]
const subjects = (...inputs: object[]): Try => [REGISTER, { b: 'video', i: inputs }, REGISTERER]

const TRIES: Record<string, Try[]> = {
  'Query.subjects': [
    [READ('id'), { b: 'nope' }],
    [READ('id'), { i: list(201) }],
    [READ('id'), { i: [''] }],
  ],
  'Query.thumbupUser': [['{ thumbupUser(id: "") { id } }'], ['{ thumbupUser { id } }', {}, {}, null]],
  'Query.reconcile': [
    [RECOUNT, { b: 'nope' }, OPERATOR],
    [RECOUNT, { b: 'gone' }, OPERATOR],
    [RECOUNT, { i: list(201) }, OPERATOR],
    [RECOUNT, { i: [''] }, OPERATOR],
    [RECOUNT],
    [RECOUNT, {}, {}, null],
  ],
  'Mutation.mark': [
    [ONE, { m: 'LIKE' }, {}, null],
    [ONE, { m: 'LOVE' }],
  ],
  'Mutation.markBatch': [
    [MARK, { i: list(501, { business: 'video', id: 'a', mark: 'LIKE' }) }],
    [MARK, { i: [] }, {}, null],
  ],
  'Mutation.registerSubjects': [
    [REGISTER, { i: list(501, { id: 'a', owner: '1' }) }, REGISTERER],
    [REGISTER, { i: [] }],
    [REGISTER, { i: [] }, {}, null],
  ],
  'Thumbup.likeCount': [[READ('likeCount'), { b: 'gone' }]],
  'Thumbup.viewerMark': [
    [READ('viewerMark'), { b: 'gone' }],
    [READ('viewerMark'), {}, {}, null],
  ],
  'Thumbup.likers': [
    [READ('likers { edges { cursor } }'), { b: 'gone' }],
    [READ('likers { edges { cursor } }'), {}, {}, null],
    [READ('likers(first: 0) { edges { cursor } }')],
    [READ('likers(after: "x") { edges { cursor } }')],
  ],
  'User.likes': [
    [LIKES('business: "nope"')],
    [LIKES('business: "gone"')],
    [LIKES('business: "video", first: 101')],
    [LIKES('business: "video", after: "x"')],
    ['{ thumbupUser(id: "8") { likes(business: "video") { edges { cursor } } } }'],
    [LIKES('business: "video"'), {}, {}, null],
  ],
  'User.likesReceived': [['{ thumbupUser { likesReceived(business: "nope") } }'], ['{ thumbupUser { likesReceived(business: "gone") } }']],
  'MarkPayload.code': [
    ...[mark({ business: 'nope' }), mark({ business: 'gone' }), mark({ id: '' }), mark({ markedAt: -1 }), mark({ source: 'x'.repeat(65) })],
    ...[mark({ business: 'article', mark: 'DISLIKE' }), mark({ viewer: '8' })],
    mark({ business: 'article' }, ...list(3, { business: 'article' }).map((each) => each as object)),
  ],
  'RegisterPayload.code': [
    ...[subjects({ business: 'nope', id: 'a', owner: '1' }), subjects({ business: 'gone', id: 'a', owner: '1' })],
    ...[subjects({ id: '', owner: '1' }), subjects({ id: 'a', owner: '1' }, { id: 'a', owner: '2' })],
  ],
}

const { folder, remove } = makeServiceFolder()
let service: Service
beforeAll(async () => {
  const businesses = [
    { number: 1, name: 'video', entity: 'Video' },
    { number: 2, name: 'article', entity: 'Article', thumbup: { dislikes: false, marksPerSecondMax: 1 } },
    { number: 3, name: 'gone', entity: 'Gone', thumbup: { deleted: true } },
  ]
  service = await startService({ folder, settings: { businesses, stores: { regions: 4 } } })
})
afterAll(async () => {
  await service?.stop()
  remove()
})

test.each(Object.keys(TRIES))('%s', async (place) => {
  const codes = new Set<string>()
  for (const [query, variables = {}, headers = {}, viewer = '7'] of TRIES[place] as Try[]) {
    const { data, errors = [] } = await ask(service.url, viewer ?? undefined, query, variables, headers)
    const payloads = [data?.markBatch, data?.registerSubjects].flatMap((each) => each ?? []) as { code: string | null }[]
    const told = [...errors.map(({ extensions }) => extensions.code), ...payloads.flatMap(({ code }) => code ?? [])]
    expect({ query, variables, told }).toMatchObject({ told: expect.arrayContaining([expect.any(String)]) })
    for (const code of told) codes.add(code)
  }
  expect([...codes].toSorted()).toEqual(named(place))
})
