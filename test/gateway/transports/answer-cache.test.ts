import { describe, expect, test } from 'vitest'
import { makeClientMemory } from '../../../gateway/memory/client-memory.ts'
import { makeAnswerCache, ownResult } from '../../../gateway/transports/answer-cache.ts'
import { connectTo, fetchOf, json, startSubgraph } from './http-subgraph.ts'

const BYTES_MAX = 8_388_608

/** In chunks, as a network might cut it. */
function inChunks(text: string) {
  const bytes = Buffer.from(text)
  return { chunks: [bytes.subarray(0, 7), bytes.subarray(7, 8), bytes.subarray(8)], length: bytes.length }
}

function reading() {
  const remembered = makeAnswerCache(makeClientMemory(BYTES_MAX))
  let parses = 0
  const read = (call: string, body: unknown) => {
    const text = JSON.stringify(body)
    return ownResult(
      remembered.read(call, inChunks(text), () => {
        parses += 1
        return JSON.parse(text) as { data: Record<string, unknown> }
      }),
    )
  }
  return { read, parses: () => parses, weight: remembered.weight }
}

describe('equal answers', () => {
  test('equal answers are parsed twice at most', () => {
    const { read, parses } = reading()
    for (let time = 0; time < 5; time += 1) expect(read('a', { data: { x: 1 } })).toEqual({ data: { x: 1 } })
    expect(parses()).toBe(2)
  })

  test('each caller owns its answer: a change by one is invisible to the others', async () => {
    const subgraph = await startSubgraph((_, response) => json(response, { data: { list: [{ id: '1', tags: ['a'] }] } }))
    for (const dedupe of [true, false]) {
      const fetch = fetchOf(connectTo(subgraph, { dedupe }), '{ list { id tags } }')
      for (let time = 0; time < 4; time += 1) {
        const results = await Promise.all([fetch.run({}, {}), fetch.run({}, {})])
        for (const { data } of results) {
          expect(data).toEqual({ list: [{ id: '1', tags: ['a'] }] })
          const [first] = (data as { list: { id: string; tags: string[] }[] }).list
          first?.tags.push('b')
          Object.assign(first ?? {}, { id: '2', more: {} })
        }
      }
    }
  })

  test('an answer is always the one that was sent, also after others of the same length and for another call', () => {
    const { read } = reading()
    for (const x of [1, 1, 1, 2, 2, 1, 3, 3, 3, 1, 22, 22, 22, 1]) {
      expect(read('a', { data: { x } })).toEqual({ data: { x } })
      expect(read('b', { data: { x: x + 1 } })).toEqual({ data: { x: x + 1 } })
    }
  })

  test('answers with errors and long answers are parsed each time', () => {
    const { read, parses } = reading()
    const long = 'x'.repeat(200_000)
    for (let time = 0; time < 4; time += 1) {
      read('a', { data: { x: 1 }, errors: [{ message: 'no' }] })
      read('b', { data: { long } })
    }
    expect(parses()).toBe(8)
  })

  test('cached answers weigh a few megabytes at most, and the most used ones stay', () => {
    const { read, parses, weight } = reading()
    const long = 'x'.repeat(100_000)
    for (let time = 0; time < 3; time += 1)
      for (let call = 0; call < 20; call += 1) {
        read(`${call}`, { data: { long } })
        read('often', { data: { x: 1 } })
      }
    expect(weight()).toBeGreaterThan(1_000_000)
    expect(weight()).toBeLessThanOrEqual(BYTES_MAX)
    const before = parses()
    read('often', { data: { x: 1 } })
    expect(parses()).toBe(before)
  })

  test('answers that never repeat are compared ever more rarely, and are cached again when they repeat', () => {
    const { read, parses, weight } = reading()
    const text = (call: number) => ({ data: { x: String(call).padStart(1_000, '0') } })
    let kept = 0
    for (let call = 0; call < 2_000; call += 1) {
      expect(read('a', text(call))).toEqual(text(call))
      if (weight() > 1_000) kept += 1
    }
    expect(kept).toBeLessThan(20)
    for (let time = 0; time < 1_010; time += 1) read('a', text(0))
    const before = parses()
    for (let time = 0; time < 100; time += 1) expect(read('a', text(0))).toEqual(text(0))
    expect(parses()).toBe(before)
  })

  test('answers to long calls are not kept', () => {
    const { read, parses, weight } = reading()
    const call = 'x'.repeat(1_000_000)
    for (let time = 0; time < 4; time += 1) read(call, { data: { x: 1 } })
    expect([parses(), weight()]).toEqual([4, 0])
  })

  test('evicted answers have no weight', () => {
    const { read, weight } = reading()
    for (let time = 0; time < 3; time += 1) read('a', { data: { long: 'x'.repeat(1_000) } })
    const before = weight()
    for (let time = 0; time < 9; time += 1) read('a', { data: { long: 'x'.repeat(time < 6 ? 10 : 1_000) } })
    expect(weight()).toBe(before)
  })
})
