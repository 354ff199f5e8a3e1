/**
 * Texts of about 12 KB with four variables in @skip and @include. Each text is sent with all 16 combinations, and every
 * combination has its own plan. They come in turn from one connection, with a token and without one.
 */
import { postUntil, type Attack, type Target } from '../attack.ts'

const ALIASES = 90
const CONDITIONS = 4
const COMBINATIONS = 2 ** CONDITIONS

function textOf(index: number): string {
  const variables = Array.from({ length: CONDITIONS }, (_, at) => `$v${at}: Boolean!`).join(' ')
  const fields = Array.from({ length: ALIASES }, (_, at) => {
    const condition = at % 2 === 0 ? `@include(if: $v${at % CONDITIONS})` : `@skip(if: $v${at % CONDITIONS})`
    return `t${index}_${at}: subjects(business: "video", ids: ["${at}"]) ${condition} { business id likeCount dislikeCount }`
  })
  return `query V${index}(${variables}) { ${fields.join(' ')} __typename }`
}

function bodyOf(index: number): string {
  const variables = Object.fromEntries(
    Array.from({ length: CONDITIONS }, (_, at) => [`v${at}`, ((index % COMBINATIONS) & (1 << at)) !== 0]),
  )
  return JSON.stringify({ query: textOf(Math.floor(index / COMBINATIONS)), variables })
}

function attack(title: string, withToken: boolean): Attack {
  return {
    title,
    role: 'start',
    run(target: Target, signal: AbortSignal) {
      const headers: Record<string, string> = withToken ? { authorization: `Bearer ${target.token}` } : {}
      return postUntil(target, signal, { lanes: 1, perSecond: 500, headers }, bodyOf)
    },
  }
}

export const attacks: readonly Attack[] = [
  attack('16 variants of large operations without a token', false),
  attack('16 variants of large operations with a token', true),
]
