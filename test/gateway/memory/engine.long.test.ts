/** The memory of an engine under operations that clients invent, with a budget of a few megabytes. */
import { describe, expect, it } from 'vitest'
import { makeClientMemory } from '../../../gateway/memory/client-memory.ts'
import type { Gate } from '../../../gateway/operation/preparing.ts'
import { makeContext, openGraph } from '../engine-graph.ts'

const BYTES_MAX = 4_000_000
const OPEN: Gate = () => ({ spent() {} })
const ALIASES = 40

const range = (count: number, of: (at: number) => string) => Array.from({ length: count }, (_, at) => of(at)).join(' ')
const large = (index: number) =>
  `{ ${range(ALIASES, (at) => `v${index}_${at}: video(id: "1") { title score viewerProgress { position subject { title likers { name likes } } } }`)} }`
const conditional = (index: number) =>
  `query (${range(4, (at) => `$c${at}: Boolean!`)}) { ${range(ALIASES, (at) => `v${index}_${at}: video(id: "1") @include(if: $c${at % 4}) { title score }`)} numbers }`
const values = (combination: number) => Object.fromEntries([0, 1, 2, 3].map((at) => [`c${at}`, (combination & (1 << at)) !== 0]))

function open() {
  const memory = makeClientMemory(BYTES_MAX)
  const engine = openGraph(undefined, { memory, tokensMax: 5_000 })
  const ask = async (query: string, variables?: Record<string, unknown>) => {
    const prepared = await engine.prepareFor(OPEN, query)
    if ('errors' in prepared) throw prepared.errors[0]
    await prepared.execute(variables, makeContext(), OPEN)
    return prepared
  }
  return { memory, engine, ask }
}

describe('the memory of an engine', () => {
  it('stays within its budget under many different texts, and keeps the operation in use', async () => {
    const { memory, ask } = open()
    const hot = await ask('{ numbers }')
    for (let index = 0; index < 60; index += 1) {
      await ask(large(index))
      expect(await ask('{ numbers }')).toBe(hot)
      expect(memory.figures().bytes).toBeLessThanOrEqual(BYTES_MAX)
    }
    const { operation, variant } = memory.figures().kinds
    expect(operation.evictions + variant.evictions).toBeGreaterThan(30)
  })

  it('stays within its budget under all combinations of conditions', async () => {
    const { memory, ask } = open()
    for (let index = 0; index < 6; index += 1) {
      for (let combination = 0; combination < 16; combination += 1) {
        await ask(conditional(index), values(combination))
        expect(memory.figures().bytes).toBeLessThanOrEqual(BYTES_MAX)
      }
    }
    expect(memory.figures().kinds.variant.evictions).toBeGreaterThan(0)
  })

  it('is empty again when the engine has forgotten its operations', async () => {
    const { memory, engine, ask } = open()
    await ask(large(1))
    await ask(conditional(1), values(3))
    expect(memory.figures().bytes).toBeGreaterThan(0)
    engine.forget()
    expect(memory.figures().bytes).toBe(0)
  })

  it('stays empty when a preparation ends after the engine has forgotten', async () => {
    const { memory, engine } = open()
    const underWay = engine.prepareFor(OPEN, large(1))
    expect(underWay).toBeInstanceOf(Promise)
    engine.forget()
    const prepared = await underWay
    if ('errors' in prepared) throw prepared.errors[0]
    expect(await prepared.execute(undefined, makeContext(), OPEN)).not.toHaveProperty('errors')
    expect(memory.figures().bytes).toBe(0)
  })

  it('holds an operation once if it is requested again while it is being prepared', async () => {
    const { memory, engine } = open()
    const underWay = engine.prepareFor(OPEN, large(1))
    engine.prepare(large(1))
    const { bytes } = memory.figures()
    await underWay
    expect(memory.figures().bytes).toBe(bytes)
  })

  it('counts pinned operations beside its budget, and never evicts them', async () => {
    const { memory, engine, ask } = open()
    const pinned = engine.pin('{ numbers }')
    const { bytes, pinned: counted } = memory.figures()
    expect([bytes, counted > 1_000]).toEqual([0, true])
    for (let index = 0; index < 30; index += 1) await ask(large(index))
    if ('errors' in pinned) throw pinned.errors[0]
    expect(
      await pinned.execute(undefined, makeContext(), () => {
        throw new Error('it was compiled again')
      }),
    ).toMatchObject({ data: { numbers: [1, 2, 3] } })
  })
})
