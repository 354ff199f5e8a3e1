import { describe, expect, it } from 'vitest'
import { seededRandom as makeRandom } from '../../../core/random.ts'
import { makeClientMemory, type Holding } from '../../../gateway/memory/client-memory.ts'
import { makeFamily, makePinnedFamily } from '../../../gateway/memory/family.ts'

const HOLDING_BYTES = 300

function filled(bytesMax: number) {
  const memory = makeClientMemory(bytesMax)
  const held = new Map<string, Holding>()
  const hold = (key: string, bytes: number, costMs = 1) => {
    let gone = false
    const holding = memory.hold('operation', bytes - HOLDING_BYTES, costMs, () => {
      gone = true
      held.delete(key)
    })
    if (!gone) held.set(key, holding)
  }
  return { memory, held, hold }
}

describe('the memory of clients', () => {
  it('stays within its budget for any values, and calls each owner once', () => {
    const random = makeRandom(7)
    const memory = makeClientMemory(1_000_000)
    const left = new Map<number, number>()
    const live = new Map<number, Holding>()
    for (let index = 0; index < 5_000; index += 1) {
      const holding = memory.hold('variant', Math.floor(random() * 60_000), random() * 50, () => {
        left.set(index, (left.get(index) ?? 0) + 1)
        live.delete(index)
      })
      if (!left.has(index)) live.set(index, holding)
      const known = [...live.entries()]
      known[Math.floor(random() * known.length)]?.[1].touch()
      const released = known[Math.floor(random() * known.length)]
      if (random() < 0.2 && released !== undefined) {
        released[1].release()
        released[1].release()
        live.delete(released[0])
      }
      expect(memory.figures().bytes).toBeLessThanOrEqual(1_000_000)
    }
    expect(memory.figures().kinds.variant.count).toBe(live.size)
    expect([...left.values()].every((times) => times === 1)).toBe(true)
    for (const holding of live.values()) holding.release()
    expect([memory.figures().bytes, memory.figures().kinds.variant.count]).toEqual([0, 0])
  })

  it('evicts in the order of the formula, as a sorting model does', () => {
    const random = makeRandom(11)
    const memory = makeClientMemory(50_000)
    type Modelled = { name: number; order: number; age: number; uses: number; bytes: number; cost: number }
    let model: Modelled[] = []
    let age = 0
    const holdings = new Map<number, Holding>()
    const evicted: number[] = []
    const expected: number[] = []
    const priority = ({ age: at, uses, cost, bytes }: Modelled) => at + uses * (cost / bytes)
    for (let name = 0; name < 2_000; name += 1) {
      const bytes = 500 + Math.floor(random() * 5_000)
      const cost = 0.1 + random() * 20
      model.push({ name, order: name, age, uses: 1, bytes, cost })
      while (model.reduce((sum, each) => sum + each.bytes, 0) > 50_000) {
        const [first] = model.toSorted((a, b) => priority(a) - priority(b) || a.order - b.order)
        if (first === undefined) break
        age = priority(first)
        expected.push(first.name)
        model = model.filter((each) => each !== first)
      }
      holdings.set(
        name,
        memory.hold('operation', bytes - HOLDING_BYTES, cost, () => void evicted.push(name)),
      )
      for (const each of model) {
        if (random() > 0.3) continue
        each.uses += 1
        each.age = age
        holdings.get(each.name)?.touch()
      }
    }
    expect(evicted.length).toBeGreaterThan(1_000)
    expect(evicted).toEqual(expected)
  })

  it('keeps the values in use while values of ten times its size are used once each', () => {
    const { held, hold } = filled(1_000_000)
    for (let index = 0; index < 50; index += 1) hold(`hot ${index}`, 5_000)
    for (let index = 0; index < 200; index += 1) {
      for (let hot = 0; hot < 50; hot += 1) held.get(`hot ${hot}`)?.touch()
      hold(`once ${index}`, 50_000, 3.5)
    }
    expect([...held.keys()].filter((key) => key.startsWith('hot'))).toHaveLength(50)
  })

  it('evicts a value that was used a million times, some time after its last use', () => {
    const { held, hold } = filled(100_000)
    hold('old', 5_000)
    for (let use = 0; use < 1_000_000; use += 1) held.get('old')?.touch()
    for (let index = 0; index < 200_000 && held.has('old'); index += 1) hold(`new ${index}`, 5_000)
    expect(held.has('old')).toBe(false)
  })

  it('does not keep a value of more than an eighth of the budget', () => {
    const { memory, held, hold } = filled(100_000)
    hold('large', 12_501)
    hold('fits', 12_500)
    expect([...held.keys()]).toEqual(['fits'])
    expect(memory.figures().kinds.operation.evictions).toBe(1)
  })
})

describe('a family', () => {
  it('frees its values when it is released, and holds nothing afterwards', () => {
    const memory = makeClientMemory(100_000)
    const family = makeFamily(memory)
    let evicted = 0
    for (let index = 0; index < 3; index += 1) family.hold('variant', 1_000, 1, () => (evicted += 1))
    family.release()
    expect([memory.figures().bytes, evicted]).toEqual([0, 0])
    family.hold('variant', 1_000, 1, () => (evicted += 1))
    expect([memory.figures().bytes, evicted]).toEqual([0, 1])
  })

  it('of a pinned operation takes nothing from the budget until it is sealed', () => {
    const memory = makeClientMemory(100_000)
    const family = makePinnedFamily(memory)
    family.hold('variant', 50_000, 1, () => {})
    expect([family.seal(), memory.figures().bytes]).toEqual([50_000, 0])
    family.hold('variant', 1_000, 1, () => {})
    expect(memory.figures().bytes).toBe(1_000 + HOLDING_BYTES)
  })
})
