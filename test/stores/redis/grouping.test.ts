import { expect, it } from 'vitest'
import { groupByRegion } from '../../../stores/redis/grouping.ts'

/** The first letter of a viewer is the region. Returns each batch as text: its groups, then the index and the group's place of each item. */
function grouped(viewers: readonly string[], itemsMax?: number): string[] {
  const items = viewers.map((viewer) => ({ viewer, business: 1 }))
  return groupByRegion(
    items,
    (item) => item,
    (viewer) => viewer.charCodeAt(0),
    itemsMax,
  ).map(
    (batch) =>
      `${batch.groups.map(({ viewer }) => viewer).join(' ')} | ${batch.items.map(({ index, place }) => `${index}:${place}`).join(' ')}`,
  )
}

it('a batch has one group for each viewer of its region, in the order of the first items', () => {
  expect(grouped(['a1', 'b1', 'a2', 'a1', 'b1'])).toEqual(['a1 a2 | 0:0 2:1 3:0', 'b1 | 1:0 4:0'])
})

it('the next batch of a full region opens its groups again', () => {
  expect(grouped(['a1', 'a2', 'a2', 'b1', 'a1'], 2)).toEqual(['a1 a2 | 0:0 1:1', 'a2 a1 | 2:0 4:1', 'b1 | 3:0'])
})
