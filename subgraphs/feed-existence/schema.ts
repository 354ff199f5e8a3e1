/**
 * The feed-existence subgraph's SDL: schema/feed-existence.graphql, and `viewerSeen` on the entity type of each configured business. Adding
 * a business needs no code.
 */
import { readFileSync } from 'node:fs'
import type { BusinessConfig } from '../../config/config.ts'

const base = readFileSync(new URL('../../schema/feed-existence.graphql', import.meta.url), 'utf8')

export function existenceSdl(businesses: readonly BusinessConfig[]): string {
  return `${base}${businesses.map(({ entity }) => entitySdl(entity)).join('')}`
}

function entitySdl(entity: string): string {
  return `
type ${entity} @key(fields: "id") {
  id: ID!
  "Whether this viewer was served the subject lately or watched it; null if neither."
  viewerSeen: SeenReason @authenticated
}
`
}
