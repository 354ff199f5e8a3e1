/**
 * `Subject`, the entity types that implement it, and the lookup `subjects`, as every subgraph has them. A subgraph names only the fields
 * that it adds.
 *
 * `Subject` is a plain interface that each subgraph declares with its own fields, so a composed graph has all of them. Every subgraph has
 * the entity type of every configured business, because a type of the composed graph must have every field of its interface.
 */
import type { HistoryBusiness, Businesses } from '../config/businesses.ts'
import { checkIdCount } from '../core/input-limits.ts'
import { idFrom } from '../core/keys.ts'
import { resolveReference } from './references.ts'

/** A symbol: entities that other subgraphs send are JSON, and cannot have it. */
const KNOWN = Symbol('known')

/**
 * An entity as a resolver returns it, or as another subgraph sent it. Other subgraphs send any JSON as `id`. It may carry values that the
 * resolver already knows, so that its fields answer without another read.
 */
export type SubjectEntity<Known = unknown> = { __typename: string; id: unknown; [KNOWN]?: Known }

export function knownSubject<Known>(__typename: string, id: string, known: Known): SubjectEntity<Known> {
  return { __typename, id, [KNOWN]: known }
}

/** `entity` must be an object that this subgraph created. Subgraphs in one process share representations and must not write into them. */
export function noteKnown<Known>(entity: SubjectEntity<Known>, known: Known): void {
  entity[KNOWN] = known
}

/** Undefined if nothing is known. */
export function knownOf<Known>(entity: SubjectEntity<Known>): Known | undefined {
  return entity[KNOWN]
}

/**
 * `fields`: the field definitions of this subgraph, the same for all types. Their directives apply to the types only. `ownFields`: more
 * definitions for the types, which the interface does not have.
 */
export function subjectSdl(businesses: readonly Pick<HistoryBusiness, 'entity'>[], fields: string, ownFields = ''): string {
  const all = `${COMMON_FIELDS}${fields}`
  const types = businesses.map(
    ({ entity }) => `
"A subject of this business. Other subgraphs add its title and more."
type ${entity} implements Subject @key(fields: "id") {
${all}${ownFields}}
`,
  )
  return `
"A thing that viewers can watch, like or be served. Each business of the configuration has a type for its subjects."
interface Subject {
${all.replaceAll(DIRECTIVES, '')}}
${types.join('')}`
}

const COMMON_FIELDS = `  "Unique within its type: a video and an article may have equal ids."
  id: ID! @cacheControl(inheritMaxAge: true, scope: PUBLIC)
  "The business of the subject, as inputs name it."
  business: String! @shareable @cacheControl(inheritMaxAge: true, scope: PUBLIC)
`

/** A composer gives the interface the access rules of its types, and refuses most directives on fields of the interface itself. */
const DIRECTIVES = / @\w+(\([^)]*\))?/g

/** The entities of these ids, in their order; in place of an id that is not valid, its error. Throws BUSINESS_UNKNOWN, IDS_TOO_MANY. */
export function subjectsOf(
  businesses: Pick<Businesses, 'byName'>,
  { business, ids }: { business: string; ids: readonly string[] },
): (SubjectEntity | Error)[] {
  const { entity } = businesses.byName(business)
  checkIdCount(ids.length)
  return ids.map((id) => resolveReference({ __typename: entity, id }))
}

/** The resolvers that each entity type needs in every subgraph. */
export function subjectResolvers({ name }: Pick<HistoryBusiness, 'name'>) {
  return { __resolveReference: resolveReference<SubjectEntity>, business: () => name }
}

/** The id of an entity as text. Throws ID_INVALID: an invalid id must not reach a lookup that other requests share. */
export function subjectId({ id }: SubjectEntity): string {
  return idFrom(id, 'id')
}
