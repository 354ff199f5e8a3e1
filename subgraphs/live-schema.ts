/** The SDL and the schema of a subgraph, which follow the businesses: each of them has an entity type. */
import { buildSubgraphSchema } from '@apollo/subgraph'
import { parse, type GraphQLSchema } from 'graphql'
import { isDeepStrictEqual } from 'node:util'
import { followed, graphOf } from '../config/businesses.ts'
import type { BusinessConfig } from '../config/config.ts'

type Module<Input> = Input extends readonly (infer Each)[] ? Extract<Each, { typeDefs: unknown }> : never
type Resolvers = NonNullable<Module<Parameters<typeof buildSubgraphSchema>[0]>['resolvers']>

export type LiveSchema = { readonly sdl: string; readonly schema: GraphQLSchema }

/**
 * `read`: the businesses of the moment, the same list until they change. A change that leaves the graph as it is keeps the schema. The schema
 * is made on first use: a worker does not need it, nor does a simulation that starts thousands of processes.
 */
export function makeLiveSchema(
  read: () => readonly BusinessConfig[],
  sdlOf: (businesses: readonly BusinessConfig[]) => string,
  makeResolvers: () => Resolvers,
): LiveSchema {
  let last: unknown
  const graph = followed(read, (businesses) => {
    const next = graphOf(businesses)
    return isDeepStrictEqual(last, next) ? last : (last = next)
  })
  const sdl = followed(graph, () => sdlOf(read()))
  const schema = followed(graph, () => buildSubgraphSchema([{ typeDefs: parse(sdl(), { noLocation: true }), resolvers: makeResolvers() }]))
  return {
    get sdl() {
      return sdl()
    },
    get schema() {
      return schema()
    },
  }
}
