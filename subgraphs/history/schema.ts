/**
 * The history subgraph's SDL: schema/history.graphql, and the entity type of each configured business, with its place in `Subject`. Adding
 * a business needs no code.
 */
import { readFileSync } from 'node:fs'
import type { BusinessConfig } from '../../config/config.ts'

const base = readFileSync(new URL('../../schema/history.graphql', import.meta.url), 'utf8')

export function historySdl(businesses: readonly BusinessConfig[]): string {
  const entities = businesses.map((business) => business.entity)
  return `${base}
"A thing that a viewer can watch, like or be served."
union Subject = ${entities.join(' | ')}
${entities.map(entitySdl).join('')}`
}

function entitySdl(entity: string): string {
  return `
type ${entity} @key(fields: "id") {
  id: ID!
  "The progress of this viewer in the subject; null if there is none."
  viewerProgress: Progress @authenticated
}
`
}
