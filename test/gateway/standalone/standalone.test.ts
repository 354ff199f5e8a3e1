/** The limits of a standalone subgraph: representations, texts, introspection, its log, and the length of its turns. */
import { buildSubgraphSchema } from '@apollo/subgraph'
import { parse } from 'graphql'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Viewer } from '../../../core/viewer.ts'
import { startAlone, type StartedAlone } from '../../support/standalone.ts'

const SDL = `
  extend schema @link(url: "https://specs.apollo.dev/federation/v2.9", import: ["@key"])
  type Query { none: Int }
  type Mutation { write: Int }
  type Video @key(fields: "id") { id: ID! likes: Int inner: Inner }
  type Comic @key(fields: "id") { id: ID! likes: Int inner: Inner }
  type Inner { value: Int inner: Inner }
  type Lone { value: Int }`

const likes = () => Promise.resolve(1)
const inner = () => ({ value: 1, inner: { value: 2 } })
const schema = buildSubgraphSchema([
  { typeDefs: parse(SDL), resolvers: { Query: { none: () => 1 }, Video: { likes, inner }, Comic: { likes, inner } } as never },
])

const videos = (count: number, type = 'Video') => Array.from({ length: count }, (_, id) => ({ __typename: type, id: String(id) }))
const entities = (selection: string, fields = 1) =>
  `query ($r: [_Any!]!) { ${Array.from({ length: fields }, (_, index) => `e${index}: _entities(representations: $r) { ${selection} }`).join(' ')} }`

type Answer = {
  status: number
  bytes: number
  data?: any
  errors?: { message: string; extensions: { code: string; cost?: number } }[]
}

async function post({ url }: StartedAlone, query: string, representations?: unknown, viewer?: string): Promise<Answer> {
  const response = await fetch(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/graphql-response+json',
      ...(viewer !== undefined && { 'x-viewer-id': viewer }),
    },
    body: JSON.stringify({ query, variables: representations === undefined ? {} : { r: representations } }),
  })
  const text = await response.text()
  return { status: response.status, bytes: text.length, ...(JSON.parse(text) as object) }
}

const refusal = ({ status, errors }: Answer) => [status, errors?.[0]?.extensions.code]

/** Measures the CPU of this thread in each turn of the event loop, in microseconds. Other processes of the machine do not count. */
function measureTurns() {
  let longest = 0
  let total = 0
  let last = process.threadCpuUsage()
  let running = true
  const start = (): void => {
    const { user, system } = process.threadCpuUsage(last)
    last = process.threadCpuUsage()
    longest = Math.max(longest, user + system)
    total += user + system
    if (running) setImmediate(start)
  }
  const stop = () => {
    running = false
    return { total, longest }
  }
  return { start, stop }
}

describe('a standalone subgraph', () => {
  let alone: StartedAlone
  beforeAll(async () => {
    alone = await startAlone(schema)
  })
  afterAll(() => alone.stop())

  it('a list of representations for a hundred aliases is refused by the cost of all of them', async () => {
    const refused = await post(alone, entities('... on Video { likes }', 100), videos(1_000))
    expect(refusal(refused)).toEqual([400, 'OPERATION_TOO_COSTLY'])
    expect(refused.errors?.[0]?.extensions.cost).toBe(100_000)
    expect(refused.bytes).toBeLessThan(500)
  })

  it('2,000 and 10,000 representations of one field are answered', async () => {
    for (const count of [2_000, 10_000]) {
      const { status, data } = await post(alone, entities('... on Video { likes }'), videos(count))
      expect(status).toBe(200)
      expect(data.e0).toHaveLength(count)
      expect(data.e0[count - 1]).toEqual({ likes: 1 })
    }
  })

  it('the cost counts the fields that are selected on the type of each representation, not on all types', async () => {
    const selection = '... on Video { inner { inner { value } } } ... on Comic { inner { inner { value } } }'
    const both = [...videos(1_600), ...videos(1_600, 'Comic')]
    expect((await post(alone, entities(selection), both)).status).toBe(200)
    expect(refusal(await post(alone, entities(selection), [...both, ...videos(200)]))).toEqual([400, 'OPERATION_TOO_COSTLY'])
  })

  it('the cost counts representations in the text, and fields in fragments', async () => {
    const literal = `[${videos(60)
      .map(({ id }) => `{ __typename: "Video", id: "${id}" }`)
      .join(' ')}]`
    const query = `fragment E on Query { _entities(representations: ${literal}) { ...F ...G } }
      fragment F on Video { ${Array.from({ length: 90 }, (_, index) => `v${index}: inner { inner { value } }`).join(' ')} }
      fragment G on Comic { likes }
      query { ...E }`
    expect(refusal(await post(alone, query))).toEqual([400, 'OPERATION_TOO_COSTLY'])
  })

  it('the cost counts leaves: a hundred aliases of a number for each of 2,000 representations', async () => {
    const selection = `... on Video { ${Array.from({ length: 98 }, (_, index) => `l${index}: likes`).join(' ')} }`
    expect(refusal(await post(alone, entities(selection), videos(2_000)))).toEqual([400, 'OPERATION_TOO_COSTLY'])
    expect((await post(alone, entities(selection), videos(900))).status).toBe(200)
  })

  it.each([
    ['null', null, 'GRAPHQL_VALIDATION_FAILED'],
    ['a text', 'Video', 'REPRESENTATION_INVALID'],
    ['a list', [], 'REPRESENTATION_INVALID'],
    ['an object without a type', { id: '1' }, 'REPRESENTATION_INVALID'],
    ['a type that is not a text', { __typename: { toString: 1 } }, 'REPRESENTATION_INVALID'],
    ['an unknown type', { __typename: 'Comet', id: '1' }, 'REPRESENTATION_INVALID'],
    ['a type without a key', { __typename: 'Lone', id: '1' }, 'REPRESENTATION_INVALID'],
    ['a name that objects inherit', { __typename: 'constructor', id: '1' }, 'REPRESENTATION_INVALID'],
  ])('a representation that is %s is a mistake of the caller, and leaves nothing in the log', async (_, each, code) => {
    const many = Array.from({ length: 500 }, () => each)
    const before = alone.logged()
    const refused = await post(alone, entities('__typename'), [{ __typename: 'Video', id: '1' }, ...many])
    expect(refusal(refused)).toEqual([400, code])
    expect(refused.bytes).toBeLessThan(20_000)
    expect(alone.logged()).toBe(before)
  })

  it('tokens and size are checked before validation', async () => {
    expect(refusal(await post(alone, `{ ${'none '.repeat(60_000)} }`))).toEqual([400, 'OPERATION_TOO_LARGE'])
    const deep = (levels: number): string => (levels === 0 ? 'unknown' : `inner { ${deep(levels - 1)} }`)
    expect(refusal(await post(alone, `{ ${deep(20)} }`))).toEqual([400, 'OPERATION_TOO_LARGE'])
  })

  it('a mutation cannot be hidden behind GET', async () => {
    const answer = await fetch(`${alone.url}?query=${encodeURIComponent('mutation { write }')}`)
    expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'POST'])
  })

  it('many representations are resolved in many turns of the event loop, each a small part of the work', async () => {
    const turns = measureTurns()
    const answered = post(
      alone,
      entities(`... on Video { ${Array.from({ length: 50 }, (_, index) => `l${index}: likes`).join(' ')} }`),
      videos(1_800),
    )
    turns.start()
    expect((await answered).status).toBe(200)
    const { total, longest } = turns.stop()
    console.log(
      `1,800 representations × 50 values: ${Math.round(total / 1_000)} ms of CPU, the longest turn ${Math.round(longest / 1_000)} ms`,
    )
    expect(longest).toBeLessThan(total / 4)
  })
})

describe('a standalone subgraph behind one gateway', () => {
  const opened = Promise.withResolvers<void>()
  const begun: (string | undefined)[] = []
  const slowLikes = async ({ id }: { id: string }, _: unknown, { viewer }: { viewer: Viewer | undefined }) => {
    if (id === '0') begun.push(viewer?.id)
    await opened.promise
    return 1
  }
  let alone: StartedAlone
  beforeAll(async () => {
    const resolvers = { Query: { none: () => 1 }, Video: { likes: slowLikes } } as never
    alone = await startAlone(buildSubgraphSchema([{ typeDefs: parse(SDL), resolvers }]), (viewer) => ({ viewer }))
  })
  afterAll(() => alone.stop())

  it('viewers of one address take turns, and small operations do not wait behind large ones', async () => {
    const large = (viewer: string) => post(alone, entities('... on Video { likes }'), videos(10_000), viewer)
    const waiting = Array.from({ length: 4 }, () => large('flood'))
    await sleep(500)
    waiting.push(large('other'))
    await sleep(200)
    for (const viewer of ['flood', 'other', undefined]) expect((await post(alone, '{ none }', undefined, viewer)).data).toEqual({ none: 1 })
    opened.resolve()
    for (const { status } of await Promise.all(waiting)) expect(status).toBe(200)
    expect(begun).toHaveLength(5)
    expect(begun.at(-1)).toBe('flood')
  })
})

describe('a standalone subgraph without introspection', () => {
  it('a standalone subgraph without introspection refuses __schema and __type, and answers _service', async () => {
    const alone = await startAlone(schema, undefined, { introspection: false })
    for (const query of ['{ __schema { types { name } } }', '{ __type(name: "Video") { name } }'])
      expect(refusal(await post(alone, query))).toEqual([400, 'GRAPHQL_VALIDATION_FAILED'])
    expect((await post(alone, '{ _service { sdl } }')).data._service.sdl).toContain('type Video')
    await alone.stop()
  })
})
