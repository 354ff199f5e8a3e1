import { parse } from 'graphql'
import type { OperationDefinitionNode } from 'graphql'
import { describe, expect, it } from 'vitest'
import { makeConfig } from '../../../config/config.ts'
import { readCostRules } from '../../../gateway/limits/cost-rules.ts'
import { compileCost } from '../../../gateway/limits/operation-cost.ts'
import { fragmentsOf } from '../../../gateway/operation/plan-document.ts'
import { makePlanner } from '../../../gateway/operation/planner.ts'
import { composeSupergraph } from '../../../gateway/supergraph/compose.ts'
import { ourSubgraphs } from '../../../subgraphs/catalog.ts'

const supergraph = composeSupergraph(ourSubgraphs(makeConfig([])))
const { schema } = makePlanner(supergraph)
const rules = readCostRules(supergraph, makeConfig([]).server.listSizeAssumed)

function cost(query: string, variables?: Record<string, unknown>): number {
  const document = parse(query)
  const operation = document.definitions.find((each) => each.kind === 'OperationDefinition') as OperationDefinitionNode
  return compileCost(schema, operation, fragmentsOf(document), rules)(variables)
}

const many = <T>(count: number, item: T): T[] => Array.from({ length: count }, () => item)
const subjects = (set: string, ids: number, fragment = '') =>
  cost(`query ($ids: [ID!]!) { subjects(business: "video", ids: $ids) ${set} } ${fragment}`, { ids: many(ids, 'a') })
const mutation = (field: string, set: string, input: unknown) =>
  cost(`mutation ($input: ${field[0]?.toUpperCase()}${field.slice(1)}Input!) { ${field}(input: $input) ${set} }`, { input })
const unseen = (set: string, candidates: number, fragment = '') =>
  cost(`query ($ids: [ID!]!) { unseen(business: "video", candidates: $ids) ${set} } ${fragment}`, { ids: many(candidates, 'a') })

describe('an operation on the public schema costs', () => {
  it('a point per subject, for the fields of the interface as for those of a type', () => {
    expect(subjects('{ id likeCount viewerMark }', 50)).toBe(50)
    expect(subjects('{ viewerProgress { position } }', 50)).toBe(50 * 2)
    const likers = '{ likers(first: 10) { edges { node { id } } } }'
    expect(subjects(likers, 50)).toBe(50 * (1 + 40 + 10 * 2))
    expect(subjects(`{ ... on Video ${likers} }`, 50)).toBe(50 * (1 + 40 + 10 * 2))
    expect(subjects('{ ...S }', 50, `fragment S on Subject ${likers}`)).toBe(50 * (1 + 40 + 10 * 2))
  })

  it('a point per input of a batch, even if no result is selected, and nothing for the mistakes in it', () => {
    const results = '{ results { outcome userErrors { code message path } } userErrors { code } }'
    for (const [field, list] of [
      ['reportProgressBatch', 'reports'],
      ['setMarkBatch', 'marks'],
    ] as const) {
      expect(mutation(field, results, { [list]: many(500, {}) })).toBe(10 + 1 + 500)
      expect(mutation(field, '{ userErrors { code } }', { [list]: many(500, {}) })).toBe(10 + 500)
      expect(mutation(field, '{ __typename }', { [list]: many(500, {}) })).toBe(10 + 500)
    }
    expect(mutation('registerSubjects', '{ results { registered } }', { business: 'video', subjects: many(500, {}) })).toBe(10 + 1 + 500)
    expect(cost('mutation { setMarkBatch(input: { marks: [{ business: "video", id: "1", mark: LIKE }] }) { results { state } } }')).toBe(12)
  })

  it('a point per ten values of mistakes and ids, however often they are selected', () => {
    const aliases = Array.from({ length: 100 }, (_, at) => `e${at}: userErrors { code message path }`).join(' ')
    expect(mutation('reportProgressBatch', `{ results { ${aliases} } }`, { reports: many(500, {}) })).toBe(
      Math.ceil((10 + 1 + 500 * (1 + 100 * 8)) / 10),
    )
    const ids = Array.from({ length: 100 }, (_, at) => `i${at}: ids`).join(' ')
    expect(unseen(`{ ${ids} }`, 500)).toBe(Math.ceil((1 + 50 + 100 * 500) / 10))
    const all = 'outcome mark oldMark changed state userErrors { code message path }'
    expect(mutation('setMarkBatch', `{ results { ${all} } }`, { marks: many(500, {}) })).toBe(10 + 1 + 500)
  })

  it('a tenth of a point per id of a mutation, and a point per subject if the subjects are selected', () => {
    for (const field of ['recordIssued', 'recordPlayed', 'deleteHistory']) {
      expect(mutation(field, '{ userErrors { code } }', { business: 'video', ids: many(200, 'a') }), field).toBe(10 + 1 + 20)
      expect(mutation(field, '{ subjects { id } }', { business: 'video', ids: many(200, 'a') }), field).toBe(10 + 1 + 200)
    }
  })

  it('a tenth of a point per candidate of `unseen`, and a point per subject if the subjects are selected', () => {
    expect(unseen('{ ids droppedIssued }', 10_000)).toBe(1 + 1_000)
    expect(unseen('{ ids subjects { id } }', 500)).toBe(1 + 500)
    expect(unseen('{ ...U }', 500, 'fragment U on Unseen { subjects { id } }')).toBe(1 + 500)
  })

  it('the subjects of a page of the history and their progress', () => {
    expect(cost('{ viewerHistory(first: 50) { edges { viewedAt node { id business viewerProgress { position } } } } }')).toBe(1 + 50 * 3)
  })
})
