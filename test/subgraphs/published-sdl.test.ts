import { lexicographicSortSchema, printSchema } from 'graphql'
import { expect, test } from 'vitest'
import { makeConfig } from '../../config/config.ts'
import { makePlanner } from '../../gateway/operation/planner.ts'
import { composeSupergraph } from '../../gateway/supergraph/compose.ts'
import { ourSubgraphs } from '../../subgraphs/catalog.ts'
import { publishedSdl } from '../../subgraphs/published-sdl.ts'

const ours = ourSubgraphs(makeConfig([]))

test('the published subgraphs compose to the same API, in which one subgraph alone has the lookup', () => {
  const published = ours.map((each) => ({ name: each.name, sdl: publishedSdl(each, { authorizationDirectives: true }) }))
  const [own, foreign] = [composeSupergraph(ours), composeSupergraph(published)]
  const api = (supergraph: string) => printSchema(lexicographicSortSchema(makePlanner(supergraph).schema))
  expect(api(foreign)).toBe(api(own))
  const lookup = (supergraph: string) => /^ {2}subjects\(.*$/m.exec(supergraph)?.[0] ?? ''
  expect(lookup(foreign)).toContain('@join__field(graph: HISTORY)')
  expect(lookup(own)).not.toContain('@join__field')
  // The lists of payloads have the same name, and stay.
  expect(published.every(({ sdl }) => /\bsubjects: \[Subject/.test(sdl))).toBe(true)
})
