/** The figures of one folder or document, and their limits. */
import { freeRelativesIn, hesIn, startsLate, wordsIn } from './sentences.ts'

const LONG_WORDS = 30
/** A share of fewer sentences is not judged. */
const SENTENCES_MIN = 20

const LIMITS = {
  /** Percent of sentences with more than 30 words. */
  long: 12,
  /** Free relatives per 100 words: `what`, `whose`. */
  freeRelatives: 0.8,
  /** Percent of sentences that do not start with their subject: `What`, `Of`. */
  starts: 4,
  /** `he` and `his` per 1,000 words. */
  he: 0,
}

export type Tally = ReturnType<typeof makeTally>

export function makeTally() {
  const sum = { sentences: 0, words: 0, long: 0, freeRelatives: 0, starts: 0, he: 0 }

  const figures = (): typeof LIMITS => ({
    long: (100 * sum.long) / sum.sentences,
    freeRelatives: (100 * sum.freeRelatives) / sum.words,
    starts: (100 * sum.starts) / sum.sentences,
    he: (1000 * sum.he) / sum.words,
  })

  return {
    sentences: () => sum.sentences,

    add(sentence: string): void {
      const words = wordsIn(sentence)
      sum.sentences += 1
      sum.words += words
      sum.long += words > LONG_WORDS ? 1 : 0
      sum.freeRelatives += freeRelativesIn(sentence)
      sum.starts += startsLate(sentence) ? 1 : 0
      sum.he += hesIn(sentence)
    },

    columns(): string[] {
      const { long, freeRelatives, starts, he } = figures()
      const each = sum.words / sum.sentences
      return [
        String(sum.sentences),
        each.toFixed(1),
        `${long.toFixed(1)}%`,
        freeRelatives.toFixed(2),
        `${starts.toFixed(1)}%`,
        he.toFixed(2),
      ]
    },

    /** The names of the figures above their limits. */
    over(): string[] {
      if (sum.sentences < SENTENCES_MIN) return []
      const measured = figures()
      return (Object.keys(LIMITS) as (keyof typeof LIMITS)[]).filter((figure) => measured[figure] > LIMITS[figure])
    },
  }
}
