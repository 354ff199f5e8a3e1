import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { makeWordFilter } from '../../../../subgraphs/feed/packed/filter-words.ts'

/** Few letters, so that words occur in texts, in several cases and forms, and all characters of regular expressions. */
const letter = fc.constantFrom(...Array.from('aAbBcßéE\u0301ﬁﬀΣςσ猫😀 .*+?^$()[]{}|\\/-'))
const word = fc.string({ unit: letter, minLength: 1, maxLength: 4 })
const text = fc.string({ unit: letter, maxLength: 60 })

function naiveForm(value: string): string {
  return value.normalize('NFKC').toUpperCase().normalize('NFKC')
}

describe('filter words', () => {
  it('match the texts that a search for each word finds', () => {
    fc.assert(
      fc.property(fc.array(word, { maxLength: 12 }), fc.array(text, { minLength: 1, maxLength: 4 }), (words, texts) => {
        const matches = makeWordFilter(words)
        for (const one of texts) expect(matches(one)).toBe(words.some((each) => naiveForm(one).includes(naiveForm(each))))
      }),
      { numRuns: 3_000 },
    )
  })

  it.each([
    ['spoiler', 'A SPOILER about the end'],
    ['Straße', 'STRASSE'],
    ['ΟΔΟΣ', 'οδοσα'],
    ['café', 'CAFE\u0301'],
    ['file', 'a ﬁle'],
    ['ＡＢＣ', 'abc'],
    ['猫', '我有一只猫。'],
    ['a.c', 'xa.cx'],
    ['two words', 'these TWO words'],
  ])('%s matches "%s"', (one, found) => {
    expect(makeWordFilter(['other', one])(found)).toBe(true)
  })

  it.each([
    ['a.c', 'abc'],
    ['two words', 'two  words'],
    ['cat', 'c a t'],
  ])('%s does not match "%s"', (one, other) => {
    expect(makeWordFilter([one])(other)).toBe(false)
  })

  it('match nothing without a word, and an empty word matches nothing', () => {
    expect(makeWordFilter([])('text')).toBe(false)
    expect(makeWordFilter([''])('text')).toBe(false)
  })
})
