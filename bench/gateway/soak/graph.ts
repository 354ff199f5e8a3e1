/**
 * The graph of the soak: one subgraph in the gateway's process, one behind HTTP. Every reload adds a field to the schema of
 * the remote subgraph. Its server has all fields from the start. All operations are different.
 */
const LINK = 'extend schema @link(url: "https://specs.apollo.dev/federation/v2.9", import: ["@key"])\n'

export const LOCAL_SDL = `${LINK}
type Query { watched(first: Int = 5): [Video] }
type Video @key(fields: "id") { id: ID! position: Int duration: Int device: String }
`

/** The schema after `rounds` reloads. */
export function remoteSdl(rounds: number): string {
  const added = Array.from({ length: rounds }, (_, round) => ` extra${round}: Int`).join('')
  return `${LINK}
type Query { video(id: ID!): Video }
type Video @key(fields: "id") { id: ID! title: String author: User${added} }
type User { name: String avatar: String }
`
}

const LOCAL = ['position', 'duration', 'device']
const REMOTE = ['title', 'author { name }', 'author { name avatar }']

export type SoakOperation = { readonly query: string; readonly key: string }

/** Operations in the shapes of real clients. Each has its own alias, so no cached work can be reused. */
export function operationOf(index: number): SoakOperation {
  const key = `k${index}`
  const first = 1 + (index % 5)
  const local = LOCAL[index % LOCAL.length] ?? 'position'
  const remote = REMOTE[Math.floor(index / 3) % REMOTE.length] ?? 'title'
  const named = `query Soak${index}`
  if (index % 10 === 0) return { key, query: `${named} { ${key}: video(id: "${index}") { id ${remote} ${local} } }` }
  if (index % 10 < 4)
    return { key, query: `${named} { ${key}: watched(first: ${first}) { id ${local} ...More } } fragment More on Video { ${remote} }` }
  return {
    key,
    query: `${named}($yes: Boolean = true) { ${key}: watched(first: ${first}) { id ${local} ... @include(if: $yes) { ${remote} } } }`,
  }
}

/** Returns whether an answer is complete and has no errors. */
export function isRight({ key }: SoakOperation, answer: string): boolean {
  return answer.startsWith(`{"data":{"${key}":`) && !answer.includes('"errors"') && !answer.includes(`"${key}":null`)
}
