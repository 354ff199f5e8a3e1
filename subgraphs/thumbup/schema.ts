/**
 * The SDL of the thumbup subgraph: schema/thumbup.graphql, and the entity type of each business in the graph. A new business is therefore a
 * change of configuration only.
 */
import { readFileSync } from 'node:fs'
import type { BusinessConfig } from '../../config/config.ts'
import { isShown } from './businesses.ts'

const base = readFileSync(new URL('../../schema/thumbup.graphql', import.meta.url), 'utf8')

/** At least one business must have thumbup enabled or deleted. */
export function thumbupSdl(businesses: readonly BusinessConfig[]): string {
  const entities = businesses.filter(isShown).map((business) => business.entity)
  return `${base}
"A thing that a viewer can watch, like or be served."
union Subject = ${entities.join(' | ')}
${entities.map(entitySdl).join('')}`
}

function entitySdl(entity: string): string {
  return `
type ${entity} @key(fields: "id") {
  id: ID!
  "Likes, including a like that this viewer gave just now. Null if no store answers. Errors: BUSINESS_DELETED, ID_INVALID."
  likeCount: BigCount
  "Dislikes, as \`likeCount\`."
  dislikeCount: BigCount
  "The mark of this viewer. Null if no store answers. Errors: BUSINESS_DELETED, ID_INVALID, UNAUTHENTICATED."
  viewerMark: Mark @authenticated
  "The users who like the subject, newest first. \`first\`: 1 to 100. \`after\`: a cursor of an earlier page. Null if no store answers. Errors: BUSINESS_DELETED, ID_INVALID, UNAUTHENTICATED, FIRST_INVALID, CURSOR_INVALID."
  likers(first: Int! = 20, after: String): LikerConnection @authenticated @cost(weight: 40)
}
`
}
