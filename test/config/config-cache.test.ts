import { describe, expect, test } from 'vitest'
import { cacheLayoutSchema, cacheNodeOf } from '../../config/cache.ts'
import { makeConfig } from '../../config/config.ts'

const mistakesOf = (cache: unknown, stores = {}): string[] => {
  try {
    makeConfig([{ name: 'test', values: { cache, stores } }])
    return []
  } catch (error) {
    return (error as Error).message.split('\n')
  }
}

describe('nodes of the layout', () => {
  test.each([
    ['10.0.0.1:11211', { host: '10.0.0.1', port: 11211, weight: 1 }],
    ['cache-1.internal:11211*3', { host: 'cache-1.internal', port: 11211, weight: 3 }],
    ['[::1]:11211*2', { host: '::1', port: 11211, weight: 2 }],
  ])('%s is host, port and weight', (text, node) => expect(cacheNodeOf(text)).toEqual(node))

  test.each(['', 'host', 'host:', ':11211', 'host:0', 'host:65536', 'host:1*0', 'host:1*101', 'host:1*', '::1:11211', 'a b:1'])(
    '"%s" is not a node',
    (text) => expect(cacheNodeOf(text)).toBeUndefined(),
  )
})

describe('the section cache', () => {
  test('has no layout by default, and takes one from the configuration', () => {
    expect(makeConfig([]).cache).toEqual({ ttlMs: 600_000, memoryBytesMax: 67_108_864 })
    expect(cacheLayoutSchema.parse({ main: ['a:1'] })).toEqual({ main: ['a:1'], l1: [] })
    expect(mistakesOf({ layout: { main: ['a:1', 'a:2*2'], backup: ['b:1'], l1: [['c:1'], ['c:2']] } })).toEqual([])
  })

  test.each([
    [{ layout: {} }, /^cache.layout.main: it is missing: give a list/],
    [{ layout: { main: [] } }, /^cache.layout.main: a pool needs a node/],
    [{ layout: { main: ['a'] } }, /^cache.layout.main.0: "a" is not possible: write host:port/],
    [
      { layout: { main: ['a:1'], l1: [['b:1'], ['b:2', 'a:1*2']] } },
      /^cache.layout.l1.1.1: "a:1\*2" is not possible: a:1 is in the layout twice/,
    ],
    [
      { layout: { main: ['a:1'], l1: Array.from({ length: 17 }, (_, at) => [`b:${at + 1}`]) } },
      /^cache.layout.l1: the list is too long: give at most 16 \(set in test\)$/,
    ],
    [{ layout: null }, /^cache.layout: null is not possible: give a mapping/],
    [{ layout: { main: ['a:1'], second: ['b:1'] } }, /^cache.layout.second is not a setting/],
  ])('%j is one mistake with the reason', (cache, sentence) => {
    const mistakes = mistakesOf(cache)
    expect(mistakes).toHaveLength(1)
    expect(mistakes[0]).toMatch(sentence)
  })
})
