import { describe, expect, it } from 'vitest'
import { composeSupergraph } from '../../../gateway/supergraph/compose.ts'
import { makeEngine } from '../../../gateway/operation/engine.ts'
import { HEAD } from './guarded-graph.ts'

describe('access rules of a supergraph', () => {
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

  it('a supergraph with @policy does not start: guarded fields must not be served', () => {
    const sdl = `extend schema @link(url: "https://specs.apollo.dev/federation/v2.9", import: ["@policy"])
      type Query { a: Int @policy(policies: [["p"]]) }`
    expect(() => start(compose(sdl))).toThrow('Query.a has @policy')
  })

  it('a supergraph may rename the directives', async () => {
    const supergraph = compose(`${HEAD} type Query { a: Int @authenticated }`)
      .replace(
        '@link(url: "https://specs.apollo.dev/authenticated/v0.1"',
        '@link(url: "https://specs.apollo.dev/authenticated/v0.1", as: "signedIn"',
      )
      .replaceAll('@authenticated', '@signedIn')
    const operation = start(supergraph).prepare('{ a }')
    expect('errors' in operation).toBe(true)
    const { readAccessRules } = await import('../../../gateway/authorization/access-rules.ts')
    expect(readAccessRules(supergraph)?.ofField('Query', 'a')).toHaveLength(1)
  })

  it('a field that requires a guarded field without being guarded itself is not composed', () => {
    expect(() =>
      composeSupergraph([
        { name: 'a', sdl: `${HEAD} type Query { x: T } type T @key(fields: "id") { id: ID! cost: Int @authenticated }` },
        { name: 'b', sdl: `${HEAD} type T @key(fields: "id") { id: ID! cost: Int @external leak: Int @requires(fields: "cost") }` },
      ]),
    ).toThrow('@authenticated')
  })
})
