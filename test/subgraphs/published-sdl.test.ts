import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { lexicographicSortSchema, printSchema } from 'graphql'
import { expect, onTestFinished, test } from 'vitest'
import { makeConfig } from '../../config/config.ts'
import { makePlanner } from '../../gateway/operation/planner.ts'
import { composeSupergraph } from '../../gateway/supergraph/compose.ts'
import { gather } from '../../gateway/supergraph/gather.ts'
import { ourSubgraphs } from '../../subgraphs/catalog.ts'
import { publishedSdl } from '../../subgraphs/published-sdl.ts'

const ours = ourSubgraphs(makeConfig([]))

test('a supergraph.yaml may list our subgraphs with the SDL that they publish', async () => {
  const subgraphs = ours.map((each) => {
    const sdl = publishedSdl(each, { authorizationDirectives: true })
    return [each.name, { routing_url: `http://${each.name}/`, schema: { sdl } }]
  })
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-published-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const path = join(folder, 'supergraph.yaml')
  writeFileSync(path, JSON.stringify({ subgraphs: Object.fromEntries(subgraphs) }))
  const { content } = await gather(path, ours, { fetchTimeoutMs: 300 })
  expect(content).toMatchObject({ subgraphs: ours.map(({ name }) => ({ name, url: `http://${name}/` })) })
})

test('the published subgraphs compose to the same API, in which one subgraph alone has the lookup', () => {
  const published = ours.map((each) => ({ name: each.name, sdl: publishedSdl(each, { authorizationDirectives: true }) }))
  const [own, foreign] = [composeSupergraph(ours), composeSupergraph(published)]
  const api = (supergraph: string) => printSchema(lexicographicSortSchema(makePlanner(supergraph).schema))
  expect(api(foreign)).toBe(api(own))
  const lookup = (supergraph: string) => /^ {2}subjects\([^)]*\).*$/m.exec(supergraph)?.[0] ?? ''
  const graphsOf = (supergraph: string) => Array.from(lookup(supergraph).matchAll(/@join__field\(graph: (\w+)\)/g), ([, graph]) => graph)
  expect(graphsOf(foreign)).toEqual(['HISTORY'])
  expect(graphsOf(own)).toEqual(['FEED_EXISTENCE', 'HISTORY', 'THUMBUP'])
  // The lists of payloads have the same name, and stay. The feed has none.
  const others = published.filter(({ name }) => name !== 'feed')
  expect(others.every(({ sdl }) => /\bsubjects: \[Subject/.test(sdl))).toBe(true)
})
