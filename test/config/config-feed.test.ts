import { describe, expect, test } from 'vitest'
import { makeConfig } from '../../config/config.ts'
import { hasFeed } from '../../config/feed.ts'

const config = (values: object) => makeConfig([{ name: 'test', values }])
const mistakesOf = (values: object): string[] => {
  try {
    config(values)
    return []
  } catch (error) {
    return (error as Error).message.split('\n')
  }
}
const business = (more: object = {}) => ({ number: 9, name: 'note', entity: 'Note', ...more })

describe('the configuration of the feed', () => {
  test('there is a feed if its business is configured', () => {
    expect(hasFeed(config({}))).toBe(true)
    expect(hasFeed(config({ businesses: [business()] }))).toBe(false)
    expect(hasFeed(config({ businesses: [business()], feed: { business: 'note' } }))).toBe(true)
  })

  test('the number of follows is refused for a business', () => {
    expect(mistakesOf({ businesses: [business({ number: 65_535 })] })).toEqual([
      expect.stringContaining('65535 is the number of follows: use 1 to 65534'),
    ])
    expect(mistakesOf({ businesses: [business({ number: 65_534 })] })).toEqual([])
  })

  test('types of the feed are no entities of a business', () => {
    expect(mistakesOf({ businesses: [business({ entity: 'FilterWords' })] })).toEqual([expect.stringContaining('the entity FilterWords')])
  })

  test('a feed needs a business with likes', () => {
    const feed = { business: 'note' }
    expect(mistakesOf({ businesses: [business({ thumbup: { enabled: false } })], feed })).toEqual([
      expect.stringContaining('feed.business: note needs a business with likes'),
    ])
    expect(mistakesOf({ businesses: [business({ thumbup: { enabled: false } })] })).toEqual([])
  })

  test('changes are remembered for longer than a cached value lives', () => {
    expect(mistakesOf({ feed: { keepMs: 600_000 } })).toEqual([expect.stringContaining('at least cache.ttlMs and a minute (660000)')])
    expect(mistakesOf({ feed: { keepMs: 660_000 } })).toEqual([])
  })

  test('a sweep comes after the flush', () => {
    expect(mistakesOf({ feed: { sweepAfterMs: 1_000 } })).toEqual([expect.stringContaining('feed.sweepAfterMs (1000) must exceed')])
  })
})
