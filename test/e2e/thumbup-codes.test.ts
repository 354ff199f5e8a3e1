/** docs/api/likes.md lists the codes of each field. The running gateway answers with these and with no others. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ask, makeServiceFolder, startService, type Service } from '../../harness/deployment/service.ts'
import { postIdOf } from '../../subgraphs/feed/packed/post-id.ts'

const [, ...TABLES] = readFileSync(join(import.meta.dirname, '..', '..', 'docs', 'api', 'likes.md'), 'utf8')
  .replace(/^.*\n## Errors\n/s, '')
  .split(/^\|---\|---\|$/m)

/** The codes in the rows that name the field. `table`: 0 of userErrors, 1 of GraphQL errors. */
function named(table: number, field: string): string[] {
  const rows = [...(TABLES[table] ?? '').matchAll(/^\| (.*) \| (.*) \|$/gm)].filter(([, fields]) => fields?.includes(`\`${field}\``))
  return rows.flatMap(([, , codes]) => [...(codes ?? '').matchAll(/`([A-Z_]+)`/g)].map(([, code]) => code as string)).toSorted()
}

const list = (count: number, item: unknown = 'a') => Array.from({ length: count }, () => item)
const ONE = 'mutation ($i: SetMarkInput!) { setMark(input: $i) { userErrors { code } } }'
/** More marks in a second than the business allows. */
const MANY = `mutation ($i: SetMarkInput!) { ${list(4)
  .map((_, at) => `m${at}: setMark(input: $i) { userErrors { code } }`)
  .join(' ')} }`
const BATCH =
  'mutation ($i: [SetMarkInput!]!) { setMarkBatch(input: { marks: $i }) { userErrors { code } results { userErrors { code } } } }'
const REGISTER = `mutation ($i: [RegisterSubjectInput!]!) {
  registerSubjects(input: { business: "video", subjects: $i }) { userErrors { code } results { userErrors { code } } } }`
const REGISTERER = { 'x-viewer-scopes': 'subjects:register' }
const RECOUNT = 'query ($b: String = "video", $i: [ID!] = ["a"]) { reconcile(business: $b, ids: $i) { checked } }'
const OPERATOR = { 'x-viewer-scopes': 'operator' }
const READ = (fields: string) => `query ($b: String = "video", $i: [ID!] = ["a"]) { subjects(business: $b, ids: $i) { ${fields} } }`
const LIKES = (args: string) => `{ thumbupUser { likes(${args}) { edges { cursor } } } }`

type Try = [query: string, variables?: Record<string, unknown>, headers?: Record<string, string>, viewer?: string | null]
/** The id of a post for chosen viewers, which was never published. */
const RESTRICTED = postIdOf(1, 0)
const BAD_MARKS = [
  ...[
    { business: 'nope' },
    { business: 'gone' },
    { business: 'closed' },
    { id: '' },
    { markedAt: -1 },
    { source: 'x'.repeat(65) },
    { viewer: '8' },
  ],
  { business: 'article', mark: 'DISLIKE' },
  { business: 'post', id: RESTRICTED },
]
const filled = (more: object) => ({ business: 'video', id: 'a', mark: 'LIKE', ...more })
const one = (more: object): Try => [ONE, { i: filled(more) }]
const batch = (...more: object[]): Try => [BATCH, { i: more.map(filled) }]
const subjects = (...i: object[]): Try => [REGISTER, { i }, REGISTERER]

const USER_ERRORS: Record<string, Try[]> = {
  setMark: [...BAD_MARKS.map(one), [MANY, { i: filled({ business: 'article' }) }]],
  setMarkBatch: [
    ...BAD_MARKS.map((each) => batch(each)),
    batch(...(list(4, { business: 'article' }) as object[])),
    batch(...(list(501, {}) as object[])),
  ],
  registerSubjects: [
    ...[subjects({ business: 'nope', id: 'a', owner: '1' }), subjects({ business: 'gone', id: 'a', owner: '1' })],
    subjects({ business: 'closed', id: 'a', owner: '1' }),
    subjects({ business: 'post', id: RESTRICTED, owner: '1' }),
    ...[subjects({ id: '', owner: '1' }), subjects({ id: 'a', owner: '1' }, { id: 'a', owner: '2' })],
    subjects(...(list(501, { id: 'a', owner: '1' }) as object[])),
  ],
}

const ERRORS: Record<string, Try[]> = {
  subjects: [
    [READ('id likeCount'), { b: 'nope' }],
    [READ('id likeCount'), { i: list(201) }],
    [READ('id likeCount'), { i: [''] }],
  ],
  thumbupUser: [['{ thumbupUser(id: "") { id } }'], ['{ thumbupUser { id } }', {}, {}, null]],
  reconcile: [
    [RECOUNT, { b: 'nope' }, OPERATOR],
    [RECOUNT, { b: 'gone' }, OPERATOR],
    [RECOUNT, { i: list(201) }, OPERATOR],
    [RECOUNT, { i: [''] }, OPERATOR],
    [RECOUNT],
    [RECOUNT, {}, {}, null],
  ],
  setMark: [[ONE, { i: filled({}) }, {}, null]],
  setMarkBatch: [[BATCH, { i: [] }, {}, null]],
  registerSubjects: [
    [REGISTER, { i: [] }],
    [REGISTER, { i: [] }, {}, null],
  ],
  likeCount: [[READ('likeCount'), { b: 'gone' }]],
  dislikeCount: [[READ('dislikeCount'), { b: 'gone' }]],
  viewerMark: [
    [READ('viewerMark'), { b: 'gone' }],
    [READ('viewerMark'), {}, {}, null],
  ],
  likers: [
    [READ('likers { edges { cursor } }'), { b: 'gone' }],
    [READ('likers { edges { cursor } }'), {}, {}, null],
    [READ('likers(first: 0) { edges { cursor } }')],
    [READ('likers(after: "x") { edges { cursor } }')],
  ],
  likes: [
    [LIKES('business: "nope"')],
    [LIKES('business: "gone"')],
    [LIKES('business: "video", first: 101')],
    [LIKES('business: "video", after: "x"')],
    ['{ thumbupUser(id: "8") { likes(business: "video") { edges { cursor } } } }'],
    [LIKES('business: "video"'), {}, {}, null],
  ],
  likesReceived: [['{ thumbupUser { likesReceived(business: "nope") } }'], ['{ thumbupUser { likesReceived(business: "gone") } }']],
}

const { folder, remove } = makeServiceFolder()
let service: Service
beforeAll(async () => {
  const businesses = [
    { number: 1, name: 'video', entity: 'Video' },
    { number: 2, name: 'article', entity: 'Article', thumbup: { dislikes: false, marksPerSecondMax: 1 } },
    { number: 3, name: 'gone', entity: 'Gone', thumbup: { deleted: true } },
    { number: 4, name: 'post', entity: 'Post' },
    { number: 5, name: 'closed', entity: 'Closed', enabled: false },
  ]
  service = await startService({ folder, settings: { businesses, stores: { regions: 4 } } })
})
afterAll(async () => {
  await service?.stop()
  remove()
})

type UserErrors = { userErrors: { code: string }[]; results?: UserErrors[] }

async function codesOf(tries: readonly Try[], codesIn: (answer: any) => string[]): Promise<string[]> {
  const all = new Set<string>()
  for (const [query, variables = {}, headers = {}, viewer = '7'] of tries) {
    const codes = codesIn(await ask(service.url, viewer ?? undefined, query, variables, headers))
    for (const code of codes) all.add(code)
    expect({ query, variables, codes }).toMatchObject({ codes: expect.arrayContaining([expect.any(String)]) as unknown })
  }
  return [...all].toSorted()
}

test.each(Object.keys(USER_ERRORS))('the userErrors of %s', async (mutation) => {
  const codes = await codesOf(USER_ERRORS[mutation] as Try[], ({ data, errors }) => {
    expect(errors).toBeUndefined()
    const payloads = Object.values<UserErrors>(data)
    return payloads
      .flatMap(({ userErrors, results = [] }) => [userErrors, ...results.map((each) => each.userErrors)].flat())
      .map(({ code }) => code)
  })
  expect(codes).toEqual(named(0, mutation))
})

test.each(Object.keys(ERRORS))('the errors of %s', async (field) => {
  const codes = await codesOf(ERRORS[field] as Try[], ({ data, errors }) => {
    expect(data).toEqual(expect.any(Object))
    expect(JSON.stringify(data)).toMatch(/null/)
    return (errors as { extensions: { code: string } }[]).map(({ extensions }) => extensions.code)
  })
  expect(codes).toEqual(named(1, field))
})

test('UserErrorCode has the documented codes and no others', async () => {
  const [, , text = ''] =
    /(.*?)If they fail, a batch(.*?)GraphQL error/s.exec(
      readFileSync(join(import.meta.dirname, '..', '..', 'docs', 'api', 'likes.md'), 'utf8'),
    ) ?? []
  const ofStores = [...text.matchAll(/`([A-Z_]+)`/g)].map(([, code]) => code as string)
  const sdl = readFileSync(join(import.meta.dirname, '..', '..', 'schema', 'thumbup.graphql'), 'utf8')
  const [, values = ''] = /^enum UserErrorCode \{\n(.*?)^\}/ms.exec(sdl) ?? []
  const inSchema = [...values.matchAll(/^ {2}([A-Z_]+)$/gm)].map(([, code]) => code as string)
  const documented = new Set([...Object.keys(USER_ERRORS).flatMap((mutation) => named(0, mutation)), ...ofStores])
  expect(inSchema.toSorted()).toEqual([...documented].toSorted())
})
