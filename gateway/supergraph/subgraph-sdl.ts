/** A subgraph as text. */
import { parse, type DocumentNode, type GraphQLError } from 'graphql'
import { TidemarkError } from '../../core/errors.ts'

/** `url` is the address for requests. Without it, the subgraph runs in this process. */
export type SubgraphSdl = { readonly name: string; readonly sdl: string; readonly url?: string }

/** Throws CONFIG_INVALID with the line. */
export function parseSdl(name: string, sdl: string): DocumentNode {
  try {
    return parse(sdl)
  } catch (error) {
    const { message, locations } = error as GraphQLError
    const line = locations?.[0]?.line
    throw new TidemarkError(
      'CONFIG_INVALID',
      `the schema of the subgraph "${name}" is not GraphQL${line === undefined ? '' : `, line ${line}`}: ${message.replace('Syntax Error: ', '')}`,
      { cause: error },
    )
  }
}
