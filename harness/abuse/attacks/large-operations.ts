/**
 * Different texts of about 12 KB with 900 fields: the gateway parses, validates, plans and compiles each one. They come from one
 * connection and from sixteen, with a token and without one, with public fields and with fields that need a token.
 */
import { postUntil, type Attack, type Target } from '../attack.ts'

const ALIASES = 90

/** The aliases contain the number of the text, so no text repeats. */
function publicText(index: number): string {
  const fields = `business id likeCount dislikeCount ${'__typename '.repeat(5)}`
  return `query N${index} { ${range(ALIASES, (at) => `t${index}_${at}: subjects(business: "video", ids: ["${at}"]) { ${fields} }`)} }`
}

/** Needs three subgraphs, and a token. */
function guardedText(index: number): string {
  const subject =
    'business viewerProgress { position duration viewedAt device finished } ... on Video { id likeCount viewerMark viewerSeen likers(first: 1) { edges { node { id } } } } ... on Article { id likeCount viewerSeen } ... on Comic { id likeCount viewerMark }'
  const entry = `edges { viewedAt node { ${subject} } }`
  return `query N${index} { ${range(33, (at) => `h${index}_${at}: viewerHistory(first: 1) { ${entry} }`)} }`
}

function range(count: number, of: (at: number) => string): string {
  return Array.from({ length: count }, (_, at) => of(at)).join(' ')
}

function attack(title: string, lanes: number, textOf: (index: number) => string, withToken: boolean): Attack {
  return {
    title,
    role: 'start',
    run(target: Target, signal: AbortSignal) {
      const headers: Record<string, string> = withToken ? { authorization: `Bearer ${target.token}` } : {}
      return postUntil(target, signal, { lanes, perSecond: 500, headers }, (index) => JSON.stringify({ query: textOf(index) }))
    },
  }
}

export const attacks: readonly Attack[] = [
  attack('large operations without a token, one connection', 1, publicText, false),
  attack('large operations without a token, 16 connections', 16, publicText, false),
  attack('large operations of guarded fields without a token', 4, guardedText, false),
  attack('large operations with a token', 4, guardedText, true),
]
