/** The SDL of the thumbup subgraph: schema/thumbup.graphql, and the entity type of each configured business. Adding one needs no code. */
import { readFileSync } from 'node:fs'
import type { BusinessConfig } from '../../config/config.ts'
import { subjectSdl } from '../subjects.ts'

const base = readFileSync(new URL('../../schema/thumbup.graphql', import.meta.url), 'utf8')

const FIELDS = `  "Likes, including a like that this viewer gave just now. Null if the business has no likes, or if no store answers."
  likeCount: BigCount @cacheControl(maxAge: 5, scope: PUBLIC)
  "Dislikes, counted as \`likeCount\`."
  dislikeCount: BigCount @cacheControl(maxAge: 5, scope: PUBLIC)
  "The mark of this viewer. Null if the business has no likes, or if no store answers."
  viewerMark: Mark @authenticated
  "The users who like the subject, newest first. Null if the business has no likes, or if no store answers."
  likers(
    "The largest number of entries, 1 to 100."
    first: Int! = 20
    "A cursor of an earlier page. Default: the page begins with the newest like."
    after: String
  ): LikerConnection @authenticated @cost(weight: 40)
`

/** Businesses without likes have the fields too: a composed graph needs every field of `Subject` on every type. */
export function thumbupSdl(businesses: readonly BusinessConfig[]): string {
  return `${base}${subjectSdl(businesses, FIELDS)}`
}
