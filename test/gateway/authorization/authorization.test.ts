import { beforeEach, describe, expect, it } from 'vitest'
import { buildSubgraphSchema } from '@apollo/subgraph'
import { parse } from 'graphql'
import { composeSupergraph } from '../../../gateway/supergraph/compose.ts'
import { makeEngine } from '../../../gateway/operation/engine.ts'
import { localTransport } from '../../../gateway/transports/local-transport.ts'
import { HEAD, LACKING, NOBODY, ask, calls, clearNotes, codes, engine, fetched, type Plain } from './guarded-graph.ts'

beforeEach(clearNotes)

describe('a guarded field', () => {
  it('a guarded field is null without a token, with an error, is not fetched, and the rest is answered', async () => {
    const result = await ask('{ open me { name } }')
    expect(result.data).toEqual({ open: 'yes', me: null })
    expect(codes(result)).toEqual([['me', NOBODY]])
    expect(calls).toEqual([])
    expect((await ask('{ open me { name } }', '')).data).toEqual({ open: 'yes', me: { name: 'user 1' } })
  })

  it('a field with scopes is answered to viewers with all scopes of one list, and the error names the missing ones', async () => {
    const query = '{ users { id salary } }'
    for (const scopes of ['hr money', 'boss', 'boss hr'])
      expect((await ask(query, scopes)).data).toEqual({ users: [1, 2].map((id) => ({ id: String(id), salary: 100 })) })
    calls.splice(0)
    for (const scopes of ['', 'hr', 'money other']) {
      const result = await ask(query, scopes)
      expect(result.data).toEqual({ users: [1, 2].map((id) => ({ id: String(id), salary: null })) })
      expect(codes(result)).toEqual([
        ['users.0.salary', LACKING],
        ['users.1.salary', LACKING],
      ])
      expect(result.errors?.[0]?.message).toBe('salary needs a token with the scope hr and money, or boss')
    }
    expect(calls).toEqual([])
  })

  it('a guarded non-null field propagates its null to the nearest nullable parent', async () => {
    const loose = await ask('{ open looseUsers { id phone } }', 'none')
    expect(loose.data).toEqual({ open: 'yes', looseUsers: [null, null, null] })
    expect(codes(loose)).toEqual([
      ['looseUsers.0.phone', LACKING],
      ['looseUsers.2.phone', LACKING],
    ])
    const strict = await ask('{ users { id phone } }', 'none')
    expect(strict.data).toBeNull()
    expect(codes(await ask('{ open strictMe { id } }'))).toEqual([['strictMe', NOBODY]])
    expect((await ask('{ open strictMe { id } }')).data).toBeNull()
    expect(calls).toEqual([])
  })

  it('a field is guarded under any alias, within any fragment, and under conditions that include it', async () => {
    const query = `query Q($in: Boolean!) { users { ...F ... on User { b: mail } c: mail @include(if: $in) } } fragment F on User { a: mail id }`
    const result = await ask(query, undefined, { in: true })
    expect(result.data).toEqual({ users: [1, 2].map((id) => ({ a: null, id: String(id), b: null, c: null })) })
    expect(codes(result)).toHaveLength(6)
    expect((await ask(query, undefined, { in: false })).errors).toHaveLength(4)
    expect(calls).toEqual([])
    expect((await ask(query, '', { in: false })).errors).toBeUndefined()
  })

  it('a guarded field of another subgraph is not fetched, nor are the fields below', async () => {
    const result = await ask('{ users { id karma reviews { body } } }')
    expect(result.data).toEqual({ users: [1, 2].map((id) => ({ id: String(id), karma: id * 10, reviews: null })) })
    expect(calls).not.toContain('reviews')
    expect(codes(await ask('{ topReview { body author { name } } }'))).toEqual([['topReview.author', NOBODY]])
  })

  it('a guarded field below a list of lists has all indexes in its path', async () => {
    expect(codes(await ask('{ users { friends { mail } } }'))).toEqual([
      ['users.0.friends.0.mail', NOBODY],
      ['users.0.friends.1.mail', NOBODY],
    ])
  })
})

describe('an operation whose fields are all guarded', () => {
  it('an operation with only guarded fields is neither planned nor compiled for a caller without a token', async () => {
    const operation = await engine.prepareFor(() => ({ spent() {} }), 'query Denied { me { name friends { id } } }')
    if ('errors' in operation) throw operation.errors[0]
    const denied = JSON.parse(JSON.stringify(await operation.execute(undefined, { viewer: undefined }))) as Plain
    expect(denied.data).toEqual({ me: null })
    expect(codes(denied)).toEqual([['me', NOBODY]])
    expect(fetched).toEqual([])
    await operation.execute(undefined, { viewer: { id: '1', scopes: [] } })
    expect(fetched).toHaveLength(1)
  })
})

describe('a guarded type', () => {
  it('a guarded type guards every field that returns it: objects, enums, scalars', async () => {
    const result = await ask('{ open level stamp report { total } }')
    expect(result.data).toEqual({ open: 'yes', level: null, stamp: null, report: null })
    expect(codes(result)).toEqual([
      ['level', NOBODY],
      ['stamp', NOBODY],
      ['report', NOBODY],
    ])
    expect(calls).toEqual([])
    expect((await ask('{ level stamp report { total } }', 'level')).data).toEqual({ level: 'LOW', stamp: 1, report: { total: 1 } })
  })

  it('a guarded type in a union shows only its name, and does not affect the other types', async () => {
    const query = '{ any { __typename ... on Page { id note } ... on Vault { code } } }'
    const result = await ask(query)
    expect(result.data).toEqual({
      any: [
        { __typename: 'Page', id: 'p', note: 'a page' },
        { __typename: 'Vault', code: null },
      ],
    })
    expect(codes(result)).toEqual([['any.1.code', NOBODY]])
    expect((await ask(query, '')).errors).toBeUndefined()
  })
})

describe('an interface', () => {
  it('a field of an interface needs the grants of all its types, and one in a fragment needs those of its own type', async () => {
    const open = await ask('{ node(of: "Page") { id note } }')
    expect(open.data).toEqual({ node: { id: 'Page', note: null } })
    expect((await ask('{ node(of: "Page") { id ... on Page { note } } }')).data).toEqual({ node: { id: 'Page', note: 'a page' } })
    const guarded = await ask('{ node(of: "User") { ... on User { note } ... on Page { note } } }')
    expect(guarded.data).toEqual({ node: { note: null } })
    expect(codes(guarded)).toEqual([['node.note', NOBODY]])
    expect(calls).toEqual([])
  })

  it('a field of an interface needs these grants even if the composer did not add them to the interface', async () => {
    const sdl = `schema @link(url: "https://specs.apollo.dev/link/v1.0") { query: Query }
      type Query { n: I } interface I { a: Int } type T implements I @authenticated { a: Int } type S implements I { a: Int }`
    const { readAccessRules } = await import('../../../gateway/authorization/access-rules.ts')
    const rules = readAccessRules(sdl)
    expect(rules?.ofField('I', 'a')).toHaveLength(1)
    expect(rules?.ofField('S', 'a')).toEqual([])
  })
})

describe('a guarded key', () => {
  it('a guarded key serves fetches and is not in the answer', async () => {
    const sdl = {
      a: `${HEAD} type Query { items: [Item!]! } type Item @key(fields: "id") { id: ID @authenticated title: String }`,
      b: `${HEAD} type Query { x: Int } type Item @key(fields: "id") { id: ID @authenticated stock: Int }`,
    }
    const schemas = {
      a: buildSubgraphSchema([{ typeDefs: parse(sdl.a), resolvers: { Query: { items: () => [{ id: 'secret', title: 't' }] } } as never }]),
      b: buildSubgraphSchema([
        {
          typeDefs: parse(sdl.b),
          resolvers: { Item: { stock: () => 3, __resolveReference: ({ id }: { id: string }) => ({ id }) } } as never,
        },
      ]),
    }
    const small = makeEngine(
      composeSupergraph([
        { name: 'a', sdl: sdl.a },
        { name: 'b', sdl: sdl.b },
      ]),
      [
        { name: 'a', transport: localTransport(schemas.a) },
        { name: 'b', transport: localTransport(schemas.b) },
      ],
      { tokensMax: 1_000 },
    )
    const operation = small.prepare('{ items { id title stock } }')
    if ('errors' in operation) throw operation.errors[0]
    const result = await operation.execute(undefined, { viewer: undefined })
    expect(JSON.stringify(result)).not.toContain('"secret"')
    expect(result.data).toEqual({ items: [{ id: null, title: 't', stock: 3 }] })
  })
})

describe('mutations and subscriptions', () => {
  it('denied mutations do not run, and those beside them do', async () => {
    const result = await ask('mutation { write(n: 1) touch }', 'other')
    expect(result.data).toEqual({ write: null, touch: 1 })
    expect(calls).toEqual(['touch'])
  })

  it('a denied subscription is refused, and denied fields of events are null', async () => {
    const operation = engine.prepare('subscription { secrets }')
    if ('errors' in operation) throw operation.errors[0]
    expect(await operation.subscribe(undefined, { viewer: undefined })).toMatchObject({ errors: [{ extensions: { code: NOBODY } }] })
    expect(calls).toEqual([])
    const events = engine.prepare('subscription { users { name mail } }')
    if ('errors' in events) throw events.errors[0]
    const stream = await events.subscribe(undefined, { viewer: undefined })
    const results = []
    for await (const event of stream as AsyncIterable<Plain>) results.push(event)
    expect(results).toMatchObject([{ data: { users: { name: 'user 1', mail: null } }, errors: [{ path: ['users', 'mail'] }] }])
  })
})
