import { isInputObjectType, isObjectType, type GraphQLSchema } from 'graphql'
import { describe, expect, test } from 'vitest'
import { makeConfig } from '../../../config/config.ts'
import { OLD_NAMES } from '../../../gateway/operation/old-names.ts'
import { readOperation } from '../../../gateway/operation/operations.ts'
import { makePlanner } from '../../../gateway/operation/planner.ts'
import { compileCoercion } from '../../../gateway/operation/prepared-operation.ts'
import { runNow } from '../../../gateway/operation/preparing.ts'
import { composeSupergraph } from '../../../gateway/supergraph/compose.ts'
import { ourSubgraphs } from '../../../subgraphs/catalog.ts'

const { schema } = makePlanner(composeSupergraph(ourSubgraphs(makeConfig([]))))

function messages(query: string, graph: GraphQLSchema = schema): string[] {
  const read = runNow(readOperation(graph, query, undefined, { tokensMax: 1_000 }))
  return 'errors' in read ? read.errors.map(({ message }) => message) : []
}

/** An operation that uses a coordinate of the old schema. */
function operationWith(coordinate: string): string {
  const [, type = '', field = '', argument] = /^(\w+)(?:\.(\w+))?(?:\((\w+):\))?$/.exec(coordinate) ?? []
  if (argument !== undefined) return `mutation { ${field}(${argument}: "1") { __typename } }`
  if (type === 'Query' || type === 'Mutation') return `${type.toLowerCase()} { ${field} }`
  if (field === '')
    return type.endsWith('Input') ? `query ($input: ${type}) { __typename }` : `{ __typename } fragment F on ${type} { __typename }`
  if (isInputObjectType(schema.getType(type))) return `mutation { reportProgress(input: { ${field}: "1" }) { outcome } }`
  return `{ __typename ...F } fragment F on ${type} { ${field} }`
}

describe('an operation of the schema before version 1', () => {
  test.each(Object.entries(OLD_NAMES))('with %s gets an error that names the successor', (coordinate, [, write]) => {
    expect(messages(operationWith(coordinate)).join('\n')).toContain(`Since version 1 of the schema, write ${write}`)
  })

  test('gets one sentence without guesses', () => {
    expect(messages('{ thumbups(business: "video", ids: ["1"]) { likeCount } }')).toEqual([
      'Cannot query field "thumbups" on type "Query". Since version 1 of the schema, write subjects(business:, ids:) { likeCount dislikeCount viewerMark }',
    ])
  })

  test('gets the successor for a field of a variable', () => {
    const read = runNow(
      readOperation(schema, 'mutation ($i: ReportProgressInput!) { reportProgress(input: $i) { outcome } }', undefined, { tokensMax: 100 }),
    )
    if ('errors' in read) throw new Error('the operation is valid')
    const coerced = compileCoercion(schema, read)({ i: { business: 'video', id: '1', position: 1, oid: '1' } })
    expect('errors' in coerced && coerced.errors.map(({ message }) => message)).toEqual([
      expect.stringMatching(/Field "oid" is not defined by type "ReportProgressInput"\..* write id$/),
    ])
  })
})

test('errors about names of other graphs and other types stay unchanged', () => {
  const partner = makePlanner(composeSupergraph([{ name: 'a', sdl: 'type Query { progresses: Int } type Subject { id: ID }' }])).schema
  expect(messages('{ progress }', partner)).toEqual(['Cannot query field "progress" on type "Query". Did you mean "progresses"?'])
  expect(messages('{ unseen(business: "video", candidates: []) { oid } }')).toEqual([
    'Cannot query field "oid" on type "Unseen". Did you mean "ids"?',
  ])
})

test('every old name is absent from the schema, and every successor is in it', () => {
  for (const [coordinate, [now]] of Object.entries(OLD_NAMES)) {
    expect(has(coordinate), coordinate).toBe(false)
    expect(has(now), now).toBe(true)
  }
})

function has(coordinate: string): boolean {
  const [, name = '', fieldName, argument] = /^(\w+)(?:\.(\w+))?(?:\((\w+):\))?$/.exec(coordinate) ?? []
  const type = schema.getType(name)
  if (type === undefined || fieldName === undefined) return type !== undefined
  const field = 'getFields' in type ? type.getFields()[fieldName] : undefined
  if (argument === undefined || field === undefined || !isObjectType(type)) return field !== undefined
  return type.getFields()[fieldName]?.args.some(({ name: each }) => each === argument) ?? false
}
