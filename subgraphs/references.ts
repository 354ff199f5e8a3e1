/** The reference resolver of each entity type. Representations come from other subgraphs and direct callers, and GraphQL does not check them. */
import { idFrom } from '../core/keys.ts'

/**
 * The representation is the entity, if its key is an id. Otherwise the entity fails with ID_INVALID. The error is returned: `@apollo/subgraph`
 * would fail the other entities of the list if this threw.
 */
export function resolveReference<T extends { readonly id: unknown }>(representation: T): T | Error {
  try {
    idFrom(representation.id, 'id')
    return representation
  } catch (error) {
    return error as Error
  }
}
