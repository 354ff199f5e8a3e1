import { describe, expect, it } from 'vitest'
import { regionOf } from '../../../../../core/regions.ts'
import { flagPlaceOf } from '../../../../../subgraphs/feed-existence/stores/redis/day-flags.ts'

const regions = 100
const keyOf = (viewer: string) => `${regionOf(viewer, regions)}:${flagPlaceOf(viewer, regions).page}`

describe('the place of the day flag of a viewer', () => {
  it('is unique for every viewer id', () => {
    const dense = Array.from({ length: 50_000 }, (_, at) => String(at))
    const far = ['9007199254740993', '9007199254740992', '9223372036854775807', '9223372036854775806']
    const named = ['007', '-1', '1.5', '9223372036854775808', 'ü', '=', '']
    const viewers = [...dense, ...far, ...named]
    expect(new Set(viewers.map((viewer) => `${keyOf(viewer)} ${flagPlaceOf(viewer, regions).place}`)).size).toBe(viewers.length)
  })

  it('fills pages for neighbouring ids, and spreads text ids evenly over a thousand sets', () => {
    expect(new Set(Array.from({ length: 102_400 }, (_, at) => keyOf(String(at)))).size).toBe(100)
    const counts = new Map<string, number>()
    for (let at = 0; at < 100_000; at++) counts.set(keyOf(`user-${at}`), (counts.get(keyOf(`user-${at}`)) ?? 0) + 1)
    expect(counts.size).toBe(1_000)
    expect(Math.max(...counts.values())).toBeLessThan(200)
  })
})
