import { describe, expect, it } from 'vitest'
import { openSet } from '../../core/golomb-probe.ts'
import { seededRandom } from '../../core/random.ts'

/** A hash is its first word here, so a value of 40 bits is that word and eight zeros. */
function open(words: Iterable<number>) {
  return openSet(Float64Array.from(new Set(words), (word) => word * 256).sort(), 40)
}

const hashesOf = (words: readonly number[]): Uint32Array => Uint32Array.from(words.flatMap((word) => [word, 0]))

/** Words of one bucket; each other one will be in. */
const crowd = (count: number): number[] => Array.from({ length: 2 * count }, (_, at) => (0xabc00000 | at) >>> 0)

function strangers(count: number): number[] {
  const random = seededRandom(7)
  return Array.from({ length: count }, () => Math.floor(random() * 2 ** 32))
}

describe('a set with a crowded bucket, as a viewer makes it who chooses his ids', () => {
  it('has what is in it and nothing else, whatever the bucket has', () => {
    for (const count of [1, 15, 16, 17, 18, 33, 1_000, 20_000]) {
      const words = crowd(count)
      const set = open([...strangers(50), ...words.filter((_, at) => at % 2 === 0)])
      const found = words.map((word) => set.has(word, 0))
      expect(found.filter((isFound, at) => isFound !== (at % 2 === 0))).toEqual([])
      for (const word of strangers(50)) expect(set.has(word, 0)).toBe(true)
    }
  })

  it('answers in no more time than it has bits', () => {
    const words = crowd(60_000)
    const set = open([...strangers(80_000), ...words.filter((_, at) => at % 2 === 0)])
    const asked = hashesOf(words.slice(-20_000))
    const found = new Uint32Array(asked.length / 64)
    // A walk through the bucket takes hundreds of times as long.
    const times = [1, 2, 3].map(() => {
      const begun = performance.now()
      set.hasMany(asked, found)
      return performance.now() - begun
    })
    expect(Math.min(...times)).toBeLessThan(150)
    expect(found[0]).toBe(0x55555555)
  })
})
