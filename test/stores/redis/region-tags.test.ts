import { describe, expect, it } from 'vitest'
import { SLOTS, regionTags, slotOf } from '../../../stores/redis/region-tags.ts'

/** The number of regions in each of `nodes` equal ranges of slots. */
function spread(regions: number, nodes: number): number[] {
  const counts = Array.from({ length: nodes }, () => 0)
  for (const tag of regionTags(regions)) {
    const node = Math.floor((slotOf(tag) * nodes) / SLOTS)
    counts[node] = (counts[node] ?? 0) + 1
  }
  return counts
}

describe('hash tags of regions', () => {
  it('hash as in the Redis Cluster specification', () => {
    expect(slotOf('123456789')).toBe(0x31c3)
    expect(slotOf('user1000')).toBe(3443)
  })

  it.each([1, 3, 6, 16])('put 100 regions on %i nodes so that no node has two more than another', (nodes) => {
    const counts = spread(100, nodes)
    process.stdout.write(`100 regions on ${nodes} nodes: ${counts.join(' ')}\n`)
    expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(1)
  })

  it.each([1, 2, 16, 100, 1_000, 16_384])('of %i regions are in the middle of equal parts of the slots', (regions) => {
    regionTags(regions).forEach((tag, region) => expect(slotOf(tag)).toBe(Math.floor(((region + 0.5) * SLOTS) / regions)))
  })

  it('are short and safe between braces', () => {
    for (const tag of regionTags(16_384)) expect(tag).toMatch(/^[0-9a-z]{1,4}$/)
  })

  it('equal the tags of stored keys', () => {
    expect(regionTags(4)).toEqual(['5nw', 'h85', '7l1', 'b3k'])
  })
})
