/** Subgraphs' SDL → one supergraph, by the MIT composer. */
import { composeServices, compositionHasErrors } from '@theguild/federation-composition'
import { parse, type DocumentNode } from 'graphql'
import { TidemarkError } from '../core/errors.ts'
import { withCacheHints, withoutCacheHints } from './cache/compose.ts'
import { expandRequires } from './expand-requires.ts'
import { repairSupergraph } from './supergraph-repairs.ts'

export type SubgraphSdl = { name: string; sdl: string; url?: string }

/** The supergraph's SDL. Throws CONFIG_INVALID with one sentence per reason why the subgraphs do not compose. */
export function composeSupergraph(subgraphs: readonly SubgraphSdl[]): string {
  const documents = subgraphs.map(({ sdl }) => parse(sdl))
  const services = subgraphs.map(({ name, url }, index) => ({
    name,
    typeDefs: withoutCacheHints(documents[index] as DocumentNode),
    ...(url === undefined ? {} : { url }),
  }))
  const result = composeInAnyWay(services)
  if (compositionHasErrors(result)) {
    const reasons = result.errors.map((error) => error.message).join('\n')
    throw new TidemarkError('CONFIG_INVALID', `the subgraphs ${subgraphs.map((each) => each.name).join(', ')} do not compose:\n${reasons}`)
  }
  return withCacheHints(repairSupergraph(result.supergraphSdl, services), documents)
}

/** Reasons are those of the subgraphs as they were given. */
function composeInAnyWay(services: { name: string; typeDefs: DocumentNode; url?: string }[]) {
  const result = composeServices(services)
  if (!compositionHasErrors(result)) return result
  const expanded = composeServices(services.map((service) => ({ ...service, typeDefs: expandRequires(service.typeDefs) })))
  return compositionHasErrors(expanded) ? result : expanded
}
