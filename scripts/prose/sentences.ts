/** Sentences of a block, and the words in them that make English hard to read. */

const WORD = /[A-Za-z][A-Za-z'-]*/g
const FREE_RELATIVE = /\b(?:what|who|whoever|whatever|whom|whose|whichever)\b/gi
const START = /^(?:What|Who|Whoever|Whatever|Whose|Of|So|Nobody|Somebody|None)\b/
const HE = /\b(?:he|his|him|himself)\b/gi
const PRONOUN = /\b(?:it|its|they|them|that|this|those|these|one|ones|none|others|other|some|all)\b/gi

/** Fewer words are a heading or a value. */
const WORDS_MIN = 4

/** Links as their text, code as one word. */
export function sentencesOf(text: string): string[] {
  return text
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replaceAll(/`[^`]*`/g, 'X')
    .replaceAll(/[*_>]/g, '')
    .split(/(?<=[.!?;])\s+(?=[A-Z"(])/)
    .map((sentence) => sentence.trim())
    .filter((sentence) => wordsIn(sentence) >= WORDS_MIN)
}

export function wordsIn(sentence: string): number {
  return count(WORD, sentence)
}

/** `what`, `whose` and the like. */
export function freeRelativesIn(sentence: string): number {
  return count(FREE_RELATIVE, sentence)
}

/** Does the sentence start with `What`, `Of` or the like, before its subject? */
export function startsLate(sentence: string): boolean {
  return START.test(sentence)
}

/** `he`, `his` and the like. */
export function hesIn(sentence: string): number {
  return count(HE, sentence)
}

/** The sentences with the highest value need a new wording first. */
export function hardness(sentence: string): number {
  return (
    3 * freeRelativesIn(sentence) +
    (startsLate(sentence) ? 2 : 0) +
    3 * hesIn(sentence) +
    Math.max(0, wordsIn(sentence) - 25) / 5 +
    count(PRONOUN, sentence) / 3
  )
}

function count(pattern: RegExp, text: string): number {
  return text.match(pattern)?.length ?? 0
}
