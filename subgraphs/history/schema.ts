/** The history subgraph's SDL: schema/history.graphql, and the entity type of each configured business. Adding a business needs no code. */
import { readFileSync } from 'node:fs'
import type { BusinessConfig } from '../../config/config.ts'
import { subjectSdl } from '../subjects.ts'

const base = readFileSync(new URL('../../schema/history.graphql', import.meta.url), 'utf8')

const FIELDS = `  "The progress of this viewer in the subject; null if there is none."
  viewerProgress: Progress @authenticated
`

export function historySdl(businesses: readonly BusinessConfig[]): string {
  return `${base}${subjectSdl(businesses, FIELDS)}`
}
