/** The most candidates that one operation may send, as aliases of one list, by a viewer with a token. */
import type { Attack } from '../attack.ts'
import { postUntil } from '../attack.ts'

const IDS = 500
const ALIASES = 90
const LANES = 16
const PER_SECOND = 200

const fields = Array.from({ length: ALIASES }, (_, at) => `a${at}: unseen(business: "video", candidates: $c, exclude: $e) { ids }`).join(
  ' ',
)
const QUERY = `query Candidates($c: [ID!]!, $e: [ID!]!) { ${fields} }`

function bodyOf(index: number): string {
  const ids = (from: number) => Array.from({ length: IDS }, (_, at) => String(from + at))
  return JSON.stringify({ query: QUERY, variables: { c: ids(index * IDS), e: ids(1e9 + index * IDS) } })
}

export const attacks: readonly Attack[] = [
  {
    title: 'candidates',
    role: 'start',
    run: (target, signal) =>
      postUntil(target, signal, { lanes: LANES, perSecond: PER_SECOND, headers: { authorization: `Bearer ${target.token}` } }, bodyOf),
  },
]
