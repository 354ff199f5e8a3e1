import { buildSubgraphSchema } from '@apollo/subgraph'
import { parse } from 'graphql'
import { beforeEach, describe, expect, it } from 'vitest'
import { composeSupergraph } from '../../../gateway/supergraph/compose.ts'
import { makeEngine, type MadeEngine } from '../../../gateway/operation/engine.ts'
import { makeClientMemory, type ClientMemory } from '../../../gateway/memory/client-memory.ts'
import { localTransport } from '../../../gateway/transports/local.ts'
import type { Transport } from '../../../gateway/transports/transport.ts'

const HEAD = `extend schema @link(url: "https://specs.apollo.dev/federation/v2.9", import:
  ["@key", "@authenticated", "@requiresScopes", "@external", "@requires", "@shareable"])\n`

const SHOP = `${HEAD}
  type Query {
    open: String
    me: User @authenticated
    strictMe: User! @authenticated
    users: [User!]!
    looseUsers: [User]
    any: [Thing!]!
    node(of: String!): Node
    level: Level
    stamp: Stamp
    report: Report
    marked: Marked
  }
  type Mutation { write(n: Int!): Int @requiresScopes(scopes: [["shop:write"]]) touch: Int! }
  type Subscription { secrets: Int @authenticated users: User }
  interface Node { id: ID! note: String }
  type User implements Node @key(fields: "id") {
    id: ID!
    name: String
    mail: String @authenticated
    phone: String! @requiresScopes(scopes: [["phone"]])
    salary: Int @requiresScopes(scopes: [["hr", "money"], ["boss"]])
    note: String @authenticated
    friends: [User!]!
  }
  type Page implements Node @key(fields: "id") { id: ID! note: String }
  type Vault @authenticated { id: ID! code: Int }
  union Thing = Page | Vault
  enum Level @requiresScopes(scopes: [["level"]]) { LOW HIGH }
  scalar Stamp @authenticated
  type Report @authenticated { total: Int }
  type Marked { ${[0, 1, 2, 3, 4, 5].map((scope) => `f${scope}: Int @requiresScopes(scopes: [["s${scope}"]])`).join(' ')} }`
const MARKED = 'marked { f0 f1 f2 f3 f4 f5 }'

const REVIEWS = `${HEAD}
  type Query { topReview: Review }
  type Review { body: String author: User @authenticated }
  type User @key(fields: "id") { id: ID! reviews: [Review!] @authenticated karma: Int }`

const user = (id: string) => ({ __typename: 'User', id })
const resolvers = (calls: string[]) => ({
  shop: {
    Query: {
      open: () => 'yes',
      me: () => calls.push('me') && user('1'),
      strictMe: () => calls.push('strictMe') && user('1'),
      users: () => [user('1'), user('2')],
      looseUsers: () => [user('1'), null, user('2')],
      any: () => [
        { __typename: 'Page', id: 'p' },
        { __typename: 'Vault', id: 'v', code: 7 },
      ],
      node: (_: unknown, { of }: { of: string }) => ({ __typename: of, id: of }),
      level: () => calls.push('level') && 'LOW',
      stamp: () => calls.push('stamp') && 1,
      report: () => calls.push('report') && { total: 1 },
    },
    Mutation: { write: (_: unknown, { n }: { n: number }) => calls.push('write') && n, touch: () => calls.push('touch') && 1 },
    Subscription: {
      secrets: {
        subscribe: async function* () {
          calls.push('secrets')
          yield { secrets: 1 }
        },
      },
      users: {
        subscribe: async function* () {
          yield { users: user('1') }
        },
      },
    },
    User: {
      name: ({ id }: { id: string }) => `user ${id}`,
      mail: ({ id }: { id: string }) => calls.push('mail') && `${id}@example.org`,
      phone: () => calls.push('phone') && '555',
      salary: () => calls.push('salary') && 100,
      note: () => calls.push('note') && 'n',
      friends: ({ id }: { id: string }) => (id === '1' ? [user('2'), user('3')] : []),
      __resolveReference: ({ id }: { id: string }) => user(id),
    },
    Page: { note: () => 'a page', __resolveReference: ({ id }: { id: string }) => ({ id }) },
  },
  reviews: {
    Query: { topReview: () => ({ body: 'good', author: { id: '1' } }) },
    User: {
      reviews: ({ id }: { id: string }) => calls.push('reviews') && [{ body: `by ${id}`, author: { id } }],
      karma: ({ id }: { id: string }) => Number(id) * 10,
      __resolveReference: ({ id }: { id: string }) => ({ id }),
    },
  },
})

const calls: string[] = []
const fetched: string[] = []
beforeEach(() => {
  calls.splice(0)
  fetched.splice(0)
})

function noting(transport: Transport): Transport {
  return { ...transport, compile: (operation) => (fetched.push(operation.text), transport.compile(operation)) }
}

function open(wrap: (transport: Transport) => Transport = noting, memory?: ClientMemory): MadeEngine {
  const made = resolvers(calls)
  const subgraphs = [
    { name: 'shop', sdl: SHOP, resolvers: made.shop },
    { name: 'reviews', sdl: REVIEWS, resolvers: made.reviews },
  ]
  return makeEngine(
    composeSupergraph(subgraphs),
    subgraphs.map(({ name, sdl, resolvers: own }) => ({
      name,
      transport: wrap(localTransport(buildSubgraphSchema([{ typeDefs: parse(sdl), resolvers: own as never }]))),
    })),
    { tokensMax: 1_000, ...(memory && { memory }) },
  )
}

const engine = open()

type Plain = { data?: unknown; errors?: { message: string; path?: (string | number)[]; extensions: { code: string } }[] }

async function ask(query: string, scopes?: string, variables?: Record<string, unknown>): Promise<Plain> {
  const operation = engine.prepare(query)
  if ('errors' in operation) throw operation.errors[0]
  const viewer = scopes === undefined ? undefined : { id: '1', scopes: scopes.split(' ') }
  return JSON.parse(JSON.stringify(await operation.execute(variables, { viewer }))) as Plain
}

const codes = ({ errors = [] }: Plain) => errors.map(({ path, extensions }) => [path?.join('.'), extensions.code])
const NOBODY = 'UNAUTHENTICATED'
const LACKING = 'UNAUTHORIZED_FIELD_OR_TYPE'

describe('a guarded field', () => {
  it('is null for nobody, with an error, is not fetched, and the rest is answered', async () => {
    const result = await ask('{ open me { name } }')
    expect(result.data).toEqual({ open: 'yes', me: null })
    expect(codes(result)).toEqual([['me', NOBODY]])
    expect(calls).toEqual([])
    expect((await ask('{ open me { name } }', '')).data).toEqual({ open: 'yes', me: { name: 'user 1' } })
  })

  it('with scopes is given to who has all of one of the lists, and says which are missing', async () => {
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

  it('that cannot be null takes its surroundings along, up to where null may be', async () => {
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

  it('is guarded under any alias, within any fragment, and by conditions that let it in', async () => {
    const query = `query Q($in: Boolean!) { users { ...F ... on User { b: mail } c: mail @include(if: $in) } } fragment F on User { a: mail id }`
    const result = await ask(query, undefined, { in: true })
    expect(result.data).toEqual({ users: [1, 2].map((id) => ({ a: null, id: String(id), b: null, c: null })) })
    expect(codes(result)).toHaveLength(6)
    expect((await ask(query, undefined, { in: false })).errors).toHaveLength(4)
    expect(calls).toEqual([])
    expect((await ask(query, '', { in: false })).errors).toBeUndefined()
  })

  it('of another subgraph is not fetched from there, and neither is what lies below', async () => {
    const result = await ask('{ users { id karma reviews { body } } }')
    expect(result.data).toEqual({ users: [1, 2].map((id) => ({ id: String(id), karma: id * 10, reviews: null })) })
    expect(calls).not.toContain('reviews')
    expect(codes(await ask('{ topReview { body author { name } } }'))).toEqual([['topReview.author', NOBODY]])
  })

  it('below a list of lists has all indexes in its path', async () => {
    expect(codes(await ask('{ users { friends { mail } } }'))).toEqual([
      ['users.0.friends.0.mail', NOBODY],
      ['users.0.friends.1.mail', NOBODY],
    ])
  })
})

describe('an operation whose fields are all guarded', () => {
  it('is neither planned nor compiled for a caller without a token', async () => {
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
  it('guards every field that returns it: objects, enums, scalars', async () => {
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

  it('in a union leaves the other types alone, and shows its name only', async () => {
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
  it('asks for what any of its types asks for; a fragment asks for what its own type does', async () => {
    const open = await ask('{ node(of: "Page") { id note } }')
    expect(open.data).toEqual({ node: { id: 'Page', note: null } })
    expect((await ask('{ node(of: "Page") { id ... on Page { note } } }')).data).toEqual({ node: { id: 'Page', note: 'a page' } })
    const guarded = await ask('{ node(of: "User") { ... on User { note } ... on Page { note } } }')
    expect(guarded.data).toEqual({ node: { note: null } })
    expect(codes(guarded)).toEqual([['node.note', NOBODY]])
    expect(calls).toEqual([])
  })

  it('asks for it although its supergraph was composed without saying so', async () => {
    const sdl = `schema @link(url: "https://specs.apollo.dev/link/v1.0") { query: Query }
      type Query { n: I } interface I { a: Int } type T implements I @authenticated { a: Int } type S implements I { a: Int }`
    const { readAccessRules } = await import('../../../gateway/authorization/rules.ts')
    const rules = readAccessRules(sdl)
    expect(rules?.ofField('I', 'a')).toHaveLength(1)
    expect(rules?.ofField('S', 'a')).toEqual([])
  })
})

describe('a guarded key', () => {
  it('serves fetches and does not reach the answer', async () => {
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
  it('that are denied do not happen; those beside them do', async () => {
    const result = await ask('mutation { write(n: 1) touch }', 'other')
    expect(result.data).toEqual({ write: null, touch: 1 })
    expect(calls).toEqual(['touch'])
  })

  it('refuse a denied subscription, and null denied fields of events', async () => {
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

describe('forms of an operation', () => {
  const scopesOf = (set: number) => ['s0', 's1', 's2', 's3', 's4', 's5'].filter((_, at) => (set & (1 << at)) !== 0)

  it('take memory for sixteen sets of grants, however many come', async () => {
    const memory = makeClientMemory(67_108_864)
    const operation = open(noting, memory).prepare(`{ ${MARKED} }`)
    if ('errors' in operation) throw operation.errors[0]
    for (let set = 0; set < 64; set += 1)
      expect(await operation.execute(undefined, { viewer: { id: '1', scopes: scopesOf(set) } })).toHaveProperty('data')
    const { form, variant } = memory.figures().kinds
    // The last set has all grants, which is the operation itself.
    expect([form.count, variant.count]).toEqual([16, 17])
  })

  it('free their memory when they are evicted', async () => {
    const memory = makeClientMemory(400_000)
    const engine = open(noting, memory)
    for (let round = 0; round < 300; round += 1) {
      const operation = engine.prepare(`{ a${round % 7}: open ${MARKED} }`)
      if ('errors' in operation) throw operation.errors[0]
      expect(await operation.execute(undefined, { viewer: { id: '1', scopes: scopesOf(round * 11) } })).toHaveProperty('data')
      const { operation: operations, form } = memory.figures().kinds
      expect(form.count).toBeLessThanOrEqual(16 * operations.count)
    }
    expect(memory.figures().kinds.form.evictions).toBeGreaterThan(0)
    engine.forget()
    expect(memory.figures().bytes).toBe(0)
  })

  it('are compiled once per set of grants, not per viewer', async () => {
    const query = '{ users { salary mail } open }'
    await ask(query, 'a')
    const { length } = fetched
    await ask(query, 'b')
    await ask(query, 'c hr')
    expect(fetched).toHaveLength(length)
    await ask(query)
    expect(fetched.length).toBeGreaterThan(length)
    expect((await ask(query, 'boss')).errors).toBeUndefined()
  })

  it('differ wherever any grant does, whoever came first', async () => {
    const query = (alias: string) => `{ ${alias}: users { salary } level }`
    for (const order of [
      ['boss', 'none'],
      ['none', 'boss'],
    ]) {
      const alias = order.join('')
      for (const scopes of order) {
        const salary = scopes === 'boss' ? 100 : null
        expect((await ask(query(alias), scopes)).data).toEqual({ [alias]: [{ salary }, { salary }], level: null })
      }
    }
  })

  it('null what surrounds more than 100 denied places that cannot be null, without further errors', async () => {
    const aliases = Array.from({ length: 60 }, (_, index) => `a${index}`)
    const result = await ask(`{ open ${aliases.map((alias) => `${alias}: looseUsers { phone }`).join(' ')} }`, 'none')
    expect(result.data).toEqual({ open: 'yes', ...Object.fromEntries(aliases.map((alias) => [alias, [null, null, null]])) })
    expect(codes(result).map(([, code]) => code)).toEqual(Array.from({ length: 100 }, () => LACKING))
  })

  it('name at most 100 places that were denied', async () => {
    const many = Array.from({ length: 120 }, (_, index) => `f${index}: mail`).join(' ')
    const result = await ask(`{ users { ${many} } }`)
    expect(result.errors).toHaveLength(100)
    expect((result.data as { users: object[] }).users).toHaveLength(2)
  })
})

describe('a supergraph', () => {
  const compose = (sdl: string) => composeSupergraph([{ name: 'a', sdl }])
  const start = (supergraph: string) =>
    makeEngine(
      supergraph,
      [
        {
          name: 'a',
          transport: {
            remote: true,
            compile: () => {
              throw new Error()
            },
          },
        },
      ],
      { tokensMax: 100 },
    )

  it('with @policy does not start: what somebody guarded must not be let through', () => {
    const sdl = `extend schema @link(url: "https://specs.apollo.dev/federation/v2.9", import: ["@policy"])
      type Query { a: Int @policy(policies: [["p"]]) }`
    expect(() => start(compose(sdl))).toThrow('Query.a has @policy')
  })

  it('may call the directives otherwise', async () => {
    const supergraph = compose(`${HEAD} type Query { a: Int @authenticated }`)
      .replace(
        '@link(url: "https://specs.apollo.dev/authenticated/v0.1"',
        '@link(url: "https://specs.apollo.dev/authenticated/v0.1", as: "signedIn"',
      )
      .replaceAll('@authenticated', '@signedIn')
    const operation = start(supergraph).prepare('{ a }')
    expect('errors' in operation).toBe(true)
    const { readAccessRules } = await import('../../../gateway/authorization/rules.ts')
    expect(readAccessRules(supergraph)?.ofField('Query', 'a')).toHaveLength(1)
  })

  it('is not composed if a field requires what it is not guarded by itself', () => {
    expect(() =>
      composeSupergraph([
        { name: 'a', sdl: `${HEAD} type Query { x: T } type T @key(fields: "id") { id: ID! cost: Int @authenticated }` },
        { name: 'b', sdl: `${HEAD} type T @key(fields: "id") { id: ID! cost: Int @external leak: Int @requires(fields: "cost") }` },
      ]),
    ).toThrow('@authenticated')
  })
})

it('a form that cannot be compiled is tried once, and its cause is not told', async () => {
  let tries = 0
  const engine = open((transport) => ({
    ...transport,
    compile(operation) {
      tries += 1
      if (!operation.text.includes('mail')) throw new Error('no socket at 10.0.0.7')
      return transport.compile(operation)
    },
  }))
  const operation = engine.prepare('{ users { id mail } }')
  if ('errors' in operation) throw operation.errors[0]
  for (let time = 0; time < 3; time += 1) {
    const { errors } = await operation.execute(undefined, {})
    expect(errors).toMatchObject([{ extensions: { code: 'INTERNAL' }, originalError: { message: 'no socket at 10.0.0.7' } }])
    expect(JSON.stringify(errors)).not.toContain('10.0.0.7')
  }
  expect(tries).toBe(2)
})
