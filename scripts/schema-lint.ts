/** Checks the public schema of the default configuration, composed and per subgraph, by the rules of schema-rules.ts. */
import { Kind, buildASTSchema, parse } from 'graphql'
import { makeConfig } from '../config/config.ts'
import { makePlanner } from '../gateway/operation/planner.ts'
import { composeSupergraph } from '../gateway/supergraph/compose.ts'
import { ourSubgraphs } from '../subgraphs/catalog.ts'
import { violationsOf } from './schema-rules.ts'

const subgraphs = ourSubgraphs(makeConfig([])).map(({ name, sdl }) => ({ name, document: parse(sdl), sdl }))
const entities = new Set(
  subgraphs.flatMap(({ document }) =>
    document.definitions.flatMap((definition) =>
      definition.kind === Kind.OBJECT_TYPE_DEFINITION && definition.directives?.some(({ name }) => name.value === 'key') === true
        ? [definition.name.value]
        : [],
    ),
  ),
)
const graphs = [
  { name: 'composed', schema: makePlanner(composeSupergraph(subgraphs)).schema },
  ...subgraphs.map(({ name, document }) => ({ name, schema: buildASTSchema(document, { assumeValidSDL: true }) })),
]
for (const { name, schema } of graphs)
  for (const violation of violationsOf(schema, entities)) {
    console.error(`${name}: ${violation}`)
    process.exitCode = 1
  }
