/** The SDL of the feed subgraph: schema/feed.graphql, and the entity type of the posts' business. */
import { readFileSync } from 'node:fs'
import { postBusinessOf } from '../../config/feed.ts'
import type { Config } from '../../config/config.ts'
import { subjectSdl } from '../subjects.ts'

const base = readFileSync(new URL('../../schema/feed.graphql', import.meta.url), 'utf8')
/** The type of posts in schema/feed.graphql. A configuration may give it another name. */
const ENTITY = 'Post'

const FIELDS = `  "The author. This field and those below are null if there is no such post for this viewer, or if no store answers."
  author: User
  "At most 2000 characters. It may be empty."
  text: String
  "Addresses of pictures or videos, at most 9."
  media: [String!]
  "Time of the publication."
  createdAt: Timestamp
  "Whether the post is for chosen viewers only. It cannot be shared then."
  restricted: Boolean
  "The post that this one shares. Null if it shares none, if that post was deleted, or if no store answers."
  source: ${ENTITY}
  "Whether the shared post can be read. Null if this post shares none, or if no store answers."
  sourceState: SourceState
  "Number of public posts that share this one and are not deleted."
  repostCount: BigCount
  "Number of comments, counted by the service that owns them."
  commentCount: BigCount
  "Number of reads, counted by the service that owns them, or from reports of progress."
  readCount: BigCount
`

/** Subject has no field of this subgraph, so the types of other businesses are not needed here. */
export function feedSdl(config: Pick<Config, 'businesses' | 'feed'>): string {
  const business = postBusinessOf(config)
  if (business === undefined) throw new Error('a configuration without posts has no feed')
  const sdl = `${base}${subjectSdl([{ entity: ENTITY }], '', FIELDS)}`
  return business.entity === ENTITY ? sdl : sdl.replaceAll(/(?<=(?::|type) \[?)Post(?=[\]! \n])/g, business.entity)
}
