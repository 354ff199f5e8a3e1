import { describe, expect, test } from 'vitest'
import { makeRendezvous } from '../../cache/rendezvous.ts'
import { randomBelow, seededRandom } from '../../core/random.ts'

const KEYS = Array.from({ length: 100_000 }, (_, at) => `h${1_000_000_000 + at * 7}`)
const members = (count: number) => Array.from({ length: count }, (_, at) => ({ name: `10.0.0.${at}:11211`, weight: 1 }))

function placesOf(nodes: readonly { name: string; weight: number }[]): string[] {
  const placeOf = makeRendezvous(nodes)
  return KEYS.map((key) => (nodes[placeOf(key)] as { name: string }).name)
}

const countOf = (places: readonly string[], name: string): number => places.filter((place) => place === name).length
const moved = (before: readonly string[], after: readonly string[]): number => before.filter((place, at) => after[at] !== place).length

describe('rendezvous hashing', () => {
  test.each([2, 3, 10, 40])('with %i nodes, the fullest node has at most 1.1 times its share', (count) => {
    const places = placesOf(members(count))
    const most = Math.max(...members(count).map(({ name }) => countOf(places, name)))
    expect(most / (KEYS.length / count)).toBeLessThan(1.1)
  })

  test.each([1, 3, 10, 40])('a node that is added to %i takes its share, and no other key moves', (count) => {
    const [before, after] = [placesOf(members(count)), placesOf(members(count + 1))]
    const added = `10.0.0.${count}:11211`
    expect(moved(before, after)).toBe(countOf(after, added))
    expect(moved(before, after) / (KEYS.length / (count + 1))).toBeLessThan(1.2)
  })

  test('the keys of a removed node spread over all others, and no other key moves', () => {
    const all = members(10)
    const [before, after] = [placesOf(all), placesOf(all.filter((_, at) => at !== 4))]
    expect(moved(before, after)).toBe(countOf(before, '10.0.0.4:11211'))
    const gains = all.map(({ name }) => countOf(after, name) - countOf(before, name)).filter((gain) => gain > 0)
    expect(gains).toHaveLength(9)
    expect(Math.max(...gains) / (countOf(before, '10.0.0.4:11211') / 9)).toBeLessThan(1.2)
  })

  test('a node that is replaced passes its keys on, and at most as many others move as its successor takes', () => {
    const all = members(10)
    const replaced = all.map((node, at) => (at === 4 ? { ...node, name: '10.0.1.1:11211' } : node))
    expect(moved(placesOf(all), placesOf(replaced)) / (KEYS.length / 10)).toBeLessThan(1.2 * 2)
  })

  test('over 100 changes of a node or of a weight, 0.95 to 1.05 times as many keys move as must', () => {
    const random = seededRandom(100)
    let pool = members(4)
    let [moves, leastMoves, places] = [0, 0, placesOf(pool)]
    for (let change = 0; change < 100; change++) {
      const [at, weight] = [randomBelow(random, pool.length), 1 + randomBelow(random, 4)]
      const kind = random() < 1 / 3 ? 'weight' : pool.length < 2 + randomBelow(random, 8) ? 'add' : 'remove'
      const next = pool.map((node, index) => (kind === 'weight' && index === at ? { ...node, weight } : node))
      if (kind === 'add') next.push({ name: `10.0.1.${change}:11211`, weight })
      if (kind === 'remove') next.splice(at, 1)
      const now = placesOf(next)
      moves += moved(places, now)
      // Nodes whose share grows must get the difference.
      const shareIn = (nodes: typeof pool, name: string): number =>
        (nodes.find((node) => node.name === name)?.weight ?? 0) / nodes.reduce((sum, node) => sum + node.weight, 0)
      leastMoves += KEYS.length * next.reduce((sum, { name }) => sum + Math.max(0, shareIn(next, name) - shareIn(pool, name)), 0)
      ;[pool, places] = [next, now]
    }
    expect(moves / leastMoves).toBeGreaterThan(0.95)
    expect(moves / leastMoves).toBeLessThan(1.05)
  })

  test('the order of the nodes does not matter', () => {
    expect(placesOf(members(7).toReversed())).toEqual(placesOf(members(7)))
  })

  test('a node of weight 3 has three times the keys of a node of weight 1, and a new weight moves only its keys', () => {
    const weighted = members(4).map((node, at) => ({ ...node, weight: at === 0 ? 3 : 1 }))
    const [before, after] = [placesOf(members(4)), placesOf(weighted)]
    expect(countOf(after, '10.0.0.0:11211') / (KEYS.length / 2)).toBeCloseTo(1, 1)
    expect(before.every((place, at) => after[at] === place || after[at] === '10.0.0.0:11211')).toBe(true)
  })
})
