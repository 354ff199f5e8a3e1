/** Subgraphs' SDL → one supergraph, by the MIT composer. */
import { composeServices, compositionHasErrors } from '@theguild/federation-composition'
import { parse } from 'graphql'
import { TidemarkError } from '../core/errors.ts'

export type SubgraphSdl = { name: string; sdl: string; url?: string }

/** The supergraph's SDL. Throws CONFIG_INVALID with one sentence per reason why the subgraphs do not compose. */
export function composeSupergraph(subgraphs: readonly SubgraphSdl[]): string {
  const services = subgraphs.map(({ name, sdl, url }) => ({ name, typeDefs: parse(sdl), ...(url === undefined ? {} : { url }) }))
  const result = composeServices(services)
  if (compositionHasErrors(result)) {
    const reasons = result.errors.map((error) => error.message).join('\n')
    throw new TidemarkError('CONFIG_INVALID', `the subgraphs ${subgraphs.map((each) => each.name).join(', ')} do not compose:\n${reasons}`)
  }
  return result.supergraphSdl
}
