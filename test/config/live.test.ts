import { describe, expect, test } from 'vitest'
import { makeConfig, type Config } from '../../config/config.ts'
import { leavesOf, liveSetting } from '../../config/live/live.ts'

const FILE = { name: 'tidemark.yaml', values: { businesses: [{ number: 1, name: 'video', entity: 'Video', glanceMax: 7 }] } }
const started = makeConfig([FILE])
const parse = (document: unknown, before: Config = started) => liveSetting([FILE], () => before).parse(document, 'version 5')

function refusal(document: unknown, before?: Config): string {
  try {
    parse(document, before)
  } catch (error) {
    return (error as Error).message
  }
  return 'not refused'
}

describe('a live version', () => {
  test('changes the settings that it has, and leaves the others as they are', () => {
    const { config } = parse({ limits: { viewer: { points: 10, perSeconds: 1 } } })
    expect(config.limits.viewer).toEqual({ points: 10, perSeconds: 1 })
    expect(config.businesses).toEqual(started.businesses)
  })

  test('with limits alone leaves the list of businesses the same object, and one with equal limits those as well', () => {
    const limits = { viewer: { points: 10, perSeconds: 1 } }
    const { config } = parse({ limits })
    expect(config.businesses).toBe(started.businesses)
    expect(config.limits).not.toBe(started.limits)
    const next = parse({ limits, businesses: [{ number: 1, finishedPercent: 80 }] }, config).config
    expect(next.limits).toBe(config.limits)
    expect(next.businesses).not.toBe(config.businesses)
  })

  test('changes windows, flushes, sweeps and sizes, and the settings that follow from them', () => {
    const { config } = parse({
      history: {
        flushAgeMaxMs: 2_000,
        flushKeysMax: 7,
        aggregatorKeysMax: 70,
        persistKeysMax: 700,
        sweepAfterMs: 3_000,
        sweepEveryMs: 500,
      },
      thumbup: { windowMs: 60_000, windowKeysMax: 9, hotTtlMs: 5, hotBytesMax: 100_000 },
      feed: { countsWindowMs: 4_000 },
      existence: { cacheBytesMax: 70_000, cacheTtlMs: 60_000 },
      cache: { memoryBytesMax: 2_000_000 },
    })
    expect(config.history).toMatchObject({ flushKeysMax: 7, sweepEveryMs: 500, timelineCap: started.history.timelineCap })
    expect(config.thumbup).toMatchObject({ windowMs: 60_000, sweepAfterMs: 2 * (1_000 + 2 * 60_000) })
    expect([config.existence.cacheBytesMax, config.cache.memoryBytesMax, config.feed.countsWindowMs]).toEqual([70_000, 2_000_000, 4_000])
  })

  test('replaces a layout and a rate as a whole, also where the file has none', () => {
    const values = { cache: { layout: { main: ['a:1'], backup: ['b:1'] } }, limits: { viewer: 'none', openCost: { viewer: 5 } } }
    const limits = { viewer: { points: 1, perSeconds: 2 }, openCost: { address: 7 } }
    const { config } = liveSetting([{ name: 'tidemark.yaml', values }], () => started).parse({
      cache: { layout: { main: ['b:1'] } },
      limits,
    })
    expect(config.cache.layout).toEqual({ main: ['b:1'], l1: [] })
    expect(config.limits).toMatchObject({ viewer: { points: 1, perSeconds: 2 }, openCost: { viewer: 5, address: 7 } })
  })

  test('merges a business by its number, and appends one with a new number', () => {
    const { config } = parse({
      businesses: [
        { number: 9, name: 'podcast', entity: 'Podcast' },
        { number: 1, finishedPercent: 80 },
      ],
    })
    expect(config.businesses).toMatchObject([
      { number: 1, name: 'video', glanceMax: 7, finishedPercent: 80 },
      { number: 9, name: 'podcast', glanceMax: 5_000 },
    ])
  })

  test.each([
    [[], /^version 5 is not a mapping/],
    [{ limit: {} }, /^limit is not a setting: remove it.*\(set in version 5\)$/],
    [
      { stores: { regions: 50 } },
      /^stores\.regions cannot change while processes run: set it in tidemark\.yaml, and restart the processes$/,
    ],
    [{ cache: { ttlMs: 5_000 } }, /^cache\.ttlMs cannot change while processes run: set it in tidemark\.yaml, and restart the processes$/],
    [{ history: { retentionDays: 5 } }, /^history\.retentionDays cannot change while/],
    [{ thumbup: { windowMs: 60_000, sweepAfterMs: 70_000 } }, /^thumbup\.sweepAfterMs \(70000\) must exceed/],
    [
      {
        businesses: [
          { number: 1, enabled: false },
          { number: 1, enabled: true },
        ],
      },
      /^businesses: number 1 occurs twice: keep one entry$/,
    ],
    [{ server: { port: 1 } }, /^server\.port cannot change while processes run/],
    [{ businesses: [{ number: 1, thumbup: { deleted: true } }] }, /^businesses\.thumbup\.deleted cannot change while/],
    [{ businesses: [{ number: 1, counters: { view: 32 } }] }, /^businesses\.counters\.view cannot change while/],
    [{ businesses: [{ number: 9, name: 'podcast' }] }, /^businesses: podcast: entity: it is missing/],
    [{ businesses: [{ number: 9, name: 'podcast', entity: 'Video' }] }, /the entity Video occurs twice/],
    [
      { businesses: [{ number: 1, name: 'film' }] },
      /^businesses: video: the name cannot change from video to film: data and clients use it$/,
    ],
    [{ businesses: [{ number: 1, entity: 'Film' }] }, /^businesses: video: the entity cannot change from Video to Film/],
    // The list of all businesses, video of the file included, is not what the operator wrote.
    [{ businesses: [{ number: 9, name: 'Pod cast', entity: 'Podcast' }] }, /^businesses: number 9: name: "Pod cast" is not possible: /],
    [{ businesses: [{ number: 9, entity: 'Podcast', colour: 1 }] }, /^businesses: number 9: colour is not a setting: /m],
    [{ businesses: [{ number: 1, name: 'a film' }] }, /^businesses: number 1: name: "a film" is not possible: /],
    [{ businesses: [{ number: 0.5, name: 'podcast', entity: 'Podcast' }] }, /^businesses: podcast: number: 0\.5 is not possible: /],
    [{ businesses: [{ entity: 'Podcast' }] }, /^businesses\.0\.number: it is missing: /],
    [{ businesses: [{ number: 1 }, 'podcast'] }, /^businesses\.1: "podcast" is not possible: give a mapping/],
    [{ businesses: ['podcast'] }, /^businesses\.0: "podcast" is not possible: give a mapping/],
    [{ limits: { abuse: { refusals: 1, perSeconds: 1, blockSeconds: 1 } } }, /^limits\.abuse counts refusals of the other limits/],
  ])('%j is refused with its reason', (document, reason) => {
    expect(refusal(document)).toMatch(reason)
  })

  test('cannot lose a business that the version before had', () => {
    const before = parse({ businesses: [{ number: 9, name: 'podcast', entity: 'Podcast' }] }).config
    expect(refusal({}, before)).toBe('businesses: podcast: number 9 is missing, and processes serve it: keep it, and set enabled: false')
  })
})

test('the leaves of a version have paths with the numbers of businesses', () => {
  expect(leavesOf({ businesses: [{ number: 9, thumbup: { likesCap: 5 } }], limits: { sharedAddresses: ['::1'] }, live: {} })).toEqual([
    ['businesses.9.number', 9],
    ['businesses.9.thumbup.likesCap', 5],
    ['limits.sharedAddresses', ['::1']],
    ['live', {}],
  ])
})
