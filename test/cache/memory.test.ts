import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { ENTRY_BYTES, makeMemoryNode } from '../../cache/memory.ts'
import type { PoolName } from './recording.ts'
import { makeSteppedClock } from '../../harness/stepped-clock.ts'
import { stamped } from './recording.ts'
import { tierRules } from './rules.ts'

describe('over pools in memory', () => {
  const clock = makeSteppedClock(Date.now())
  const node = () => makeMemoryNode(clock, { bytesMax: 10_000_000 })
  const nodes: Record<PoolName, ReturnType<typeof node>> = { main: node(), backup: node(), l1: node(), 'other l1': node() }
  tierRules(() => nodes)
})

describe('a node in memory', () => {
  const command = fc.oneof(
    fc.record({ kind: fc.constant('set' as const), key: fc.nat(60), bytes: fc.nat(3_000) }),
    fc.record({ kind: fc.constant('fill' as const), key: fc.nat(60), bytes: fc.nat(3_000) }),
    fc.record({ kind: fc.constant('get' as const), key: fc.nat(60), bytes: fc.constant(0) }),
    fc.record({ kind: fc.constant('wait' as const), key: fc.constant(0), bytes: fc.nat(2_000) }),
  )

  test('no sequence of commands makes it hold more bytes than its bound, and each answer is the newest value of its key', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(command, { maxLength: 200 }), fc.integer({ min: 1_000, max: 30_000 }), async (commands, bytesMax) => {
        const clock = makeSteppedClock()
        const node = makeMemoryNode(clock, { bytesMax })
        const newest = new Map<string, Buffer>()
        for (const { kind, key: number, bytes } of commands) {
          const key = `k${number}`
          const value = Buffer.alloc(bytes, number)
          const [held] = await node.getMany([key])
          if (held !== undefined) expect(held.value).toEqual(newest.get(key))
          if (kind === 'set') node.setQuietly(key, { value, version: 1 }, clock.now() + 5_000)
          if (kind === 'fill') node.fillQuietly(key, { value, version: 1 }, undefined, clock.now() + 5_000)
          if (kind === 'wait') clock.advance(bytes)
          if (kind === 'set' || (kind === 'fill' && held === undefined)) newest.set(key, value)
          expect(node.bytes()).toBeLessThanOrEqual(bytesMax)
          const kept = await node.getMany([...newest.keys()])
          const real = kept.reduce((sum, each) => sum + (each === undefined ? 0 : each.value.buffer.byteLength + ENTRY_BYTES), 0)
          expect(real).toBeLessThanOrEqual(bytesMax)
        }
      }),
      { numRuns: 200 },
    )
  })

  test('a kept value is a copy: the caller may use its buffer again', async () => {
    const node = makeMemoryNode(makeSteppedClock(), { bytesMax: 100_000 })
    const mine = stamped('mine')
    await node.set('k', mine, Infinity)
    mine.value.fill('x')
    const [held] = await node.getMany(['k'])
    expect(held?.value.toString()).toBe('mine')
  })

  test('a value ends after its time', async () => {
    const clock = makeSteppedClock()
    const node = makeMemoryNode(clock, { bytesMax: 100_000 })
    await node.set('k', stamped('v'), clock.now() + 1_000)
    clock.advance(999)
    expect((await node.getMany(['k']))[0]?.version).toBe(1)
    clock.advance(1)
    expect(await node.getMany(['k'])).toEqual([undefined])
  })
})
