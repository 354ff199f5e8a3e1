/**
 * The feed-existence subgraph's SDL: schema/feed-existence.graphql, and the entity type of each configured business. Adding a business
 * needs no code.
 */
import { readFileSync } from 'node:fs'
import type { BusinessConfig } from '../../config/config.ts'
import { subjectSdl } from '../subjects.ts'

const base = readFileSync(new URL('../../schema/feed-existence.graphql', import.meta.url), 'utf8')

const FIELDS = `  "Whether this viewer was served the subject lately or watched it; null if neither."
  viewerSeen: SeenReason @authenticated
`

export function existenceSdl(businesses: readonly BusinessConfig[]): string {
  return `${base}${subjectSdl(businesses, FIELDS)}`
}
