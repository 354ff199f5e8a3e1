/**
 * A standalone subgraph that publishes no authorization directives still checks viewers and scopes. The operations are generated from the
 * schema, so every guarded field of a subgraph is called, also a new one.
 */
import {
  Kind,
  buildASTSchema,
  getNamedType,
  isEnumType,
  isInputObjectType,
  isLeafType,
  isListType,
  isNonNullType,
  isObjectType,
  parse,
  type DirectiveNode,
  type GraphQLField,
  type GraphQLInputType,
  type GraphQLObjectType,
  type GraphQLSchema,
} from 'graphql'
import { describe, expect, onTestFinished, test } from 'vitest'
import { makeConfig } from '../../config/config.ts'
import { ask, makeServiceFolder, startService } from '../../harness/deployment/service.ts'
import { ourSubgraphs } from '../../subgraphs/catalog.ts'

type Guarded = { place: string; query: string; variables?: Record<string, unknown>; scopes: string[] }

/** Every guarded field of queries, mutations and entities. Guarded fields below other objects are reached through those. */
function guardedFields(sdl: string): Guarded[] {
  const schema = buildASTSchema(parse(sdl), { assumeValidSDL: true })
  return Object.values(schema.getTypeMap()).flatMap((type) => {
    if (!isObjectType(type)) return []
    const isRoot = type === schema.getQueryType() || type === schema.getMutationType()
    if (!isRoot && !has(type.astNode?.directives, 'key')) return []
    return Object.values(type.getFields()).flatMap((field) => {
      const directives = [...(field.astNode?.directives ?? []), ...(type.astNode?.directives ?? [])]
      if (!has(directives, 'authenticated') && !has(directives, 'requiresScopes')) return []
      return [{ place: `${type.name}.${field.name}`, scopes: scopesOf(directives), ...call(schema, type, field, isRoot) }]
    })
  })
}

function call(schema: GraphQLSchema, type: GraphQLObjectType, field: GraphQLField<unknown, unknown>, isRoot: boolean) {
  const required = field.args.filter((each) => isNonNullType(each.type) && each.defaultValue === undefined)
  const given = required.length === 0 ? '' : `(${required.map((each) => `${each.name}: ${sample(each.type, each.name)}`).join(', ')})`
  const selection = isLeafType(getNamedType(field.type)) ? '' : ' { __typename }'
  const text = `${field.name}${given}${selection}`
  if (isRoot) return { query: `${type === schema.getMutationType() ? 'mutation' : 'query'} { ${text} }` }
  return {
    query: `query ($r: [_Any!]!) { _entities(representations: $r) { ... on ${type.name} { ${text} } } }`,
    variables: { r: [{ __typename: type.name, id: '1' }] },
  }
}

/** A literal that a field of ours accepts. */
function sample(type: GraphQLInputType, name: string): string {
  if (isNonNullType(type)) return sample(type.ofType, name)
  if (isListType(type)) return `[${sample(type.ofType, name)}]`
  if (isEnumType(type)) return String(type.getValues()[0]?.name)
  if (isInputObjectType(type)) {
    const required = Object.values(type.getFields()).filter((each) => isNonNullType(each.type))
    return `{ ${required.map((each) => `${each.name}: ${sample(each.type, each.name)}`).join(', ')} }`
  }
  if (name === 'business') return '"video"'
  return type.name === 'String' || type.name === 'ID' ? '"1"' : type.name === 'Boolean' ? 'true' : '1'
}

function has(directives: readonly DirectiveNode[] | undefined, name: string): boolean {
  return directives?.some((each) => each.name.value === name) === true
}

function scopesOf(directives: readonly DirectiveNode[]): string[] {
  const given = directives.find((each) => each.name.value === 'requiresScopes')?.arguments?.[0]?.value
  if (given?.kind !== Kind.LIST) return []
  return given.values
    .flatMap((list) => (list.kind === Kind.LIST ? list.values : []))
    .flatMap((each) => (each.kind === Kind.STRING ? [each.value] : []))
}

const REFUSED = /UNAUTHENTICATED|FORBIDDEN|UNAUTHORIZED_FIELD_OR_TYPE/

describe.each(ourSubgraphs(makeConfig([])).map(({ name, sdl }) => [name, sdl] as const))('%s alone', (name, sdl) => {
  test('publishes no authorization directive, and refuses every guarded field without the viewer or the scope', async () => {
    const { folder, remove } = makeServiceFolder()
    onTestFinished(remove)
    const { url, stop } = await startService({ folder, command: ['subgraph', name, '--without-authorization-directives'] })
    onTestFinished(async () => void (await stop()))

    const { data } = await ask(url, undefined, '{ _service { sdl } }')
    expect(data._service.sdl).toContain('@key')
    expect(data._service.sdl).not.toMatch(/authenticated|requiresScopes/)

    const guarded = guardedFields(sdl)
    expect(guarded.length).toBeGreaterThan(3)
    for (const { place, query, variables, scopes } of guarded) {
      const anonymous = await ask(url, undefined, query, variables)
      expect([place, query, JSON.stringify(anonymous)]).toEqual([place, query, expect.stringMatching(/UNAUTHENTICATED/)])
      if (scopes.length > 0) {
        const viewer = await ask(url, '1', query, variables)
        expect([place, JSON.stringify(viewer)]).toEqual([place, expect.stringMatching(/FORBIDDEN|UNAUTHORIZED/)])
      }
      const allowed = await ask(url, '1', query, variables, scopes.length === 0 ? {} : { 'x-viewer-scopes': scopes.join(' ') })
      expect([place, JSON.stringify(allowed)]).toEqual([place, expect.not.stringMatching(REFUSED)])
      expect([place, JSON.stringify(allowed)]).toEqual([place, expect.not.stringContaining('GRAPHQL_VALIDATION_FAILED')])
    }
  })
})
