import { beforeEach, describe, expect, it } from 'vitest'
import { makeClientMemory } from '../../../gateway/memory/client-memory.ts'
import { LACKING, MARKED, ask, clearNotes, codes, fetched, noting, open } from './guarded-graph.ts'

beforeEach(clearNotes)

describe('forms of an operation', () => {
  const scopesOf = (set: number) => ['s0', 's1', 's2', 's3', 's4', 's5'].filter((_, at) => (set & (1 << at)) !== 0)

  it('at most sixteen forms are kept for any number of sets of grants', async () => {
    const memory = makeClientMemory(67_108_864)
    const operation = open(noting, memory).prepare(`{ ${MARKED} }`)
    if ('errors' in operation) throw operation.errors[0]
    for (let set = 0; set < 64; set += 1)
      expect(await operation.execute(undefined, { viewer: { id: '1', scopes: scopesOf(set) } })).toHaveProperty('data')
    const { form, variant } = memory.figures().kinds
    // The last set has all grants and uses the operation itself.
    expect([form.count, variant.count]).toEqual([16, 17])
  })

  it('an evicted form frees its memory', async () => {
    const memory = makeClientMemory(400_000)
    const engine = open(noting, memory)
    for (let round = 0; round < 300; round += 1) {
      const operation = engine.prepare(`{ a${round % 7}: open ${MARKED} }`)
      if ('errors' in operation) throw operation.errors[0]
      expect(await operation.execute(undefined, { viewer: { id: '1', scopes: scopesOf(round * 11) } })).toHaveProperty('data')
      const { operation: operations, form } = memory.figures().kinds
      expect(form.count).toBeLessThanOrEqual(16 * operations.count)
    }
    expect(memory.figures().kinds.form.evictions).toBeGreaterThan(0)
    engine.forget()
    expect(memory.figures().bytes).toBe(0)
  })

  it('a form is compiled once per set of grants, not per viewer', async () => {
    const query = '{ users { salary mail } open }'
    await ask(query, 'a')
    const { length } = fetched
    await ask(query, 'b')
    await ask(query, 'c hr')
    expect(fetched).toHaveLength(length)
    await ask(query)
    expect(fetched.length).toBeGreaterThan(length)
    expect((await ask(query, 'boss')).errors).toBeUndefined()
  })

  it('viewers with different grants get different answers, in any order', async () => {
    const query = (alias: string) => `{ ${alias}: users { salary } level }`
    for (const order of [
      ['boss', 'none'],
      ['none', 'boss'],
    ]) {
      const alias = order.join('')
      for (const scopes of order) {
        const salary = scopes === 'boss' ? 100 : null
        expect((await ask(query(alias), scopes)).data).toEqual({ [alias]: [{ salary }, { salary }], level: null })
      }
    }
  })

  it('further denied places than 100 null their parents without further errors', async () => {
    const aliases = Array.from({ length: 60 }, (_, index) => `a${index}`)
    const result = await ask(`{ open ${aliases.map((alias) => `${alias}: looseUsers { phone }`).join(' ')} }`, 'none')
    expect(result.data).toEqual({ open: 'yes', ...Object.fromEntries(aliases.map((alias) => [alias, [null, null, null]])) })
    expect(codes(result).map(([, code]) => code)).toEqual(Array.from({ length: 100 }, () => LACKING))
  })

  it('at most 100 denied places have an error', async () => {
    const many = Array.from({ length: 120 }, (_, index) => `f${index}: mail`).join(' ')
    const result = await ask(`{ users { ${many} } }`)
    expect(result.errors).toHaveLength(100)
    expect((result.data as { users: object[] }).users).toHaveLength(2)
  })
})

it('a form that cannot be compiled is tried once, and clients do not see its cause', async () => {
  let tries = 0
  const engine = open((transport) => ({
    ...transport,
    compile(operation) {
      tries += 1
      if (!operation.text.includes('mail')) throw new Error('no socket at 10.0.0.7')
      return transport.compile(operation)
    },
  }))
  const operation = engine.prepare('{ users { id mail } }')
  if ('errors' in operation) throw operation.errors[0]
  for (let time = 0; time < 3; time += 1) {
    const { errors } = await operation.execute(undefined, {})
    expect(errors).toMatchObject([{ extensions: { code: 'INTERNAL' }, originalError: { message: 'no socket at 10.0.0.7' } }])
    expect(JSON.stringify(errors)).not.toContain('10.0.0.7')
  }
  expect(tries).toBe(2)
})
