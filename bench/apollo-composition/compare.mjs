/**
 * Composes our subgraphs and the example partner's with Apollo's composer and with ours, and prints the differences:
 * first in the API that clients see, then in the supergraph's definitions. Differences in its join directives are harmless.
 */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { composeServices } from '@apollo/composition'
import { parse, print, visit } from 'graphql'
import { makeConfig } from '../../config/config.ts'
import { composeSupergraph } from '../../gateway/supergraph/compose.ts'
import { makePlanner } from '../../gateway/operation/planner.ts'
import { ourSubgraphs } from '../../subgraphs/catalog.ts'

// Only the copy of graphql-js that made a schema can print it: Tidemark's, not the one beside the composer.
const { printSchema } = createRequire(new URL('../../package.json', import.meta.url))('graphql')
const read = (path) => readFileSync(new URL(path, import.meta.url), 'utf8')
const subgraphs = [
  ...ourSubgraphs(makeConfig([])).map((each) => ({ ...each, url: `http://${each.name}/` })),
  { name: 'catalog', url: 'http://catalog/', sdl: read('../../examples/partner-subgraph/schema.graphql') },
]

const apollo = composeServices(subgraphs.map(({ name, url, sdl }) => ({ name, url, typeDefs: parse(sdl) })))
if (apollo.errors !== undefined) {
  console.error(`Apollo's composer refuses: ${apollo.errors.map(({ message }) => message).join('\n')}`)
  process.exit(1)
}
for (const { message } of apollo.hints) console.log(`hint of Apollo's composer: ${message}`)
const ours = composeSupergraph(subgraphs)

// Both go through our planner: that gives the clients' API, and shows that we can serve Apollo's supergraph.
const apis = [apollo.supergraphSdl, ours].map((sdl) => definitionsOf(printSchema(makePlanner(sdl).schema)))
// Only Apollo's composer keeps the enum of `@cacheControl`, which no field uses.
for (const definitions of apis) definitions.delete('EnumTypeDefinition CacheControlScope')
const api = differences(...apis)
console.log(`API: ${apis[0].size} definitions of Apollo's, ${apis[1].size} of ours, ${api.length} differ`)
for (const line of api) console.log(line)
const supergraphs = [apollo.supergraphSdl, ours].map((sdl) => definitionsOf(sdl))
const machinery = differences(...supergraphs)
console.log(`supergraph: ${supergraphs[0].size} definitions of Apollo's, ${supergraphs[1].size} of ours, ${machinery.length} differ`)
for (const line of machinery) console.log(line)
if (api.length > 0) process.exitCode = 1

/** Each definition as text without descriptions, in which order does not count. */
function definitionsOf(sdl) {
  const byName = (a, b) => (nameOf(a) < nameOf(b) ? -1 : 1)
  const document = visit(parse(sdl), {
    leave(node) {
      const sorted = { ...node, description: undefined }
      for (const key of ['fields', 'arguments', 'directives', 'interfaces', 'types', 'values', 'locations']) {
        if (Array.isArray(sorted[key])) sorted[key] = [...sorted[key]].sort(key === 'directives' ? byText : byName)
      }
      return sorted
    },
  })
  return new Map(document.definitions.map((definition) => [`${definition.kind} ${nameOf(definition)}`, print(definition)]))
}

function byText(a, b) {
  return print(a) < print(b) ? -1 : 1
}

function nameOf(node) {
  return typeof node.name === 'string' ? node.name : (node.name?.value ?? node.value ?? '')
}

function differences(theirs, own) {
  const keys = [...new Set([...theirs.keys(), ...own.keys()])]
  return keys.flatMap((key) => {
    const [a = '(absent)', b = '(absent)'] = [theirs.get(key), own.get(key)]
    return a === b ? [] : [`--- ${key}\n  apollo: ${a.replaceAll('\n', '\n          ')}\n  ours:   ${b.replaceAll('\n', '\n          ')}`]
  })
}
