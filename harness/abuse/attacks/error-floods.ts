/** Requests that fail in several ways with different messages. The log must stay small. */
import type { Attack } from '../attack.ts'
import { postUntil } from '../attack.ts'

const LANES = 16
const PER_SECOND = 2_000

const FAILURES: readonly ((index: number) => string)[] = [
  (index) => `{"query":"{ nothing${index} }"}`,
  (index) => `{"query":"{ subjects(business: \\"none${index}\\", ids: [\\"1\\"]) { id } }"}`,
  (index) => `{"query":"query ($ids: [ID!]!) { subjects(business: \\"video\\", ids: $ids) { id } }","variables":{"ids":[${index}.5]}}`,
  (index) => `{"query":"{ subjects(business: \\"video\\", ids: [\\"${'x'.repeat(65)}${index}\\"]) { id } }"}`,
  (index) => `{"query": broken ${index}`,
  (index) => `{"documentId":"sha256:${String(index).padStart(64, '0')}"}`,
]

const bodyOf = (index: number): string => (FAILURES[index % FAILURES.length] ?? FAILURES[0])?.(index) ?? ''

export const attacks: readonly Attack[] = [
  {
    title: 'an error flood without a token',
    role: 'start',
    run: (target, signal) => postUntil(target, signal, { lanes: LANES, perSecond: PER_SECOND }, bodyOf),
  },
  {
    title: 'an error flood with wrong tokens',
    role: 'start',
    run: (target, signal) =>
      postUntil(target, signal, { lanes: LANES, perSecond: PER_SECOND, headers: { authorization: 'Bearer a.b.c' } }, bodyOf),
  },
  {
    title: 'an error flood with a token',
    role: 'start',
    run: (target, signal) =>
      postUntil(target, signal, { lanes: LANES, perSecond: PER_SECOND, headers: { authorization: `Bearer ${target.token}` } }, bodyOf),
  },
]
