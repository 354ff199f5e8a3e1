import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { makeMemcachedClient } from '../../cache/memcached/client.ts'
import { wireKeyOf } from '../../cache/memcached/wire-key.ts'
import type { NodeClient } from '../../cache/node-client.ts'
import { makeTieredCache } from '../../cache/tiers.ts'
import { systemClock } from '../../core/clock.ts'
import { fixedValue } from '../../core/live-value.ts'
import { service } from '../../harness/deployment/services.ts'
import type { PoolName } from './recording.ts'
import { stamped } from './recording.ts'
import { tierRules } from './rules.ts'

const address = await service('memcached')
const ENDS_AT = Date.now() + 600_000
const run = `${process.pid}.${Date.now()}`

describe.skipIf(address === undefined)('over pools on Memcached', () => {
  const open = (prefix: string): NodeClient => makeMemcachedClient(systemClock, address as string, { prefix: `${run}${prefix}:` })
  const nodes: Record<PoolName, NodeClient> = { main: open('m'), backup: open('b'), l1: open('1'), 'other l1': open('2') }
  afterAll(() => Promise.all(Object.values(nodes).map((node) => node.stop())))
  tierRules(() => nodes)
})

describe.skipIf(address === undefined)('a stampede', () => {
  test('1,000 reads of a cold key that come in over some turns of the event loop load it once', async () => {
    const layout = { main: ['main:1'], backup: ['backup:1'], l1: [['group:1'], ['group:2']] }
    const connect = (name: string): NodeClient => makeMemcachedClient(systemClock, address as string, { prefix: `${run}${name}:` })
    for (let round = 0; round < 10; round++) {
      const cache = makeTieredCache(systemClock, Math.random, fixedValue(layout), connect, { nodePatienceMs: 5_000 })
      let loads = 0
      const load = async () => {
        loads++
        return [stamped('v')]
      }
      const reads: Promise<unknown>[] = []
      for (let at = 0; at < 1_000; at++) {
        reads.push(cache.getMany([`cold${round}`], load))
        if (at % 20 === 0) await new Promise((resolve) => setImmediate(resolve))
      }
      await Promise.all(reads)
      expect(loads).toBe(1)
      await cache.stop()
    }
  })
})

describe.skipIf(address === undefined)('a node on Memcached', () => {
  let node: NodeClient
  beforeAll(() => {
    node = makeMemcachedClient(systemClock, address as string, { prefix: `${run}:` })
  })
  afterAll(() => node.stop())

  test('returns values of any bytes and any size with their versions, in the order of the keys', async () => {
    const sizes = [0, 1, 7, 8, 100, 65_536, 500_000]
    for (const size of sizes)
      await node.set(`s${size}`, { value: Buffer.alloc(size, '\r\nEND\r\nVALUE a 0 1\r\n'), version: size + 0.5 }, ENDS_AT)
    const held = await node.getMany(['none', ...sizes.map((size) => `s${size}`), 'no more', 's7'])
    expect(held.map((each) => each && [each.value.length, each.version])).toEqual([
      undefined,
      ...sizes.map((size) => [size, size + 0.5]),
      undefined,
      [7, 7.5],
    ])
    expect(held[6]?.value.equals(Buffer.alloc(65_536, '\r\nEND\r\nVALUE a 0 1\r\n'))).toBe(true)
  })

  test('keys with blanks, line ends, letters of any script and any length stay apart', async () => {
    const keys = ['a b', 'a\r\nflush_all\r\n', 'ключ', '鍵', 'k'.repeat(250), 'k'.repeat(251), '~', wireKeyOf('a b'), '']
    for (const key of keys) await node.set(key, stamped(`of ${key}`), ENDS_AT)
    const held = await node.getMany(keys)
    expect(held.map((each) => each?.value.toString())).toEqual(keys.map((key) => `of ${key}`))
  })

  test('2,000 keys of 800 bytes come in one call, and a read sees the quiet writes before it', async () => {
    const keys = Array.from({ length: 2_000 }, (_, at) => `many${at}`)
    keys.forEach((key, at) => node.setQuietly(key, { value: Buffer.alloc(800, at), version: at }, ENDS_AT))
    const held = await node.getMany(keys)
    expect(held.every((each, at) => each?.version === at && each.value.length === 800 && each.value[0] === at % 256)).toBe(true)
  })

  test('a quiet fill keeps a value that exists, and replaces a stale one only in the state that was read', async () => {
    await node.set('f', stamped('first'), ENDS_AT)
    node.fillQuietly('f', stamped('added'), undefined, ENDS_AT)
    const [first] = await node.getMany(['f'])
    expect(first?.value.toString()).toBe('first')
    node.fillQuietly('f', stamped('second'), first?.state, ENDS_AT)
    node.fillQuietly('f', stamped('third'), first?.state, ENDS_AT)
    expect((await node.getMany(['f']))[0]?.value.toString()).toBe('second')
  })

  test('a value that is too large is refused, quietly too, and the connection goes on', async () => {
    const large = { value: Buffer.alloc(2_000_000), version: 1 }
    const connection = node.connection()
    node.setQuietly('large', large, ENDS_AT)
    expect(await node.set('large', large, ENDS_AT)).toBe(false)
    await node.set('small', stamped('v'), ENDS_AT)
    expect((await node.getMany(['large', 'small'])).map((each) => each?.value.toString())).toEqual([undefined, 'v'])
    expect(node.connection()).toBe(connection)
  })

  test('a value is a miss after its end, although Memcached keeps whole seconds', async () => {
    await node.set('short', stamped('v'), Date.now() - 1)
    expect(await node.getMany(['short'])).toEqual([undefined])
  })

  test('requests that are sent at once get their own answers', async () => {
    await Promise.all(Array.from({ length: 300 }, (_, at) => node.set(`c${at}`, stamped(String(at)), ENDS_AT)))
    const answers = await Promise.all(Array.from({ length: 300 }, (_, at) => node.getMany([`c${at}`, `missing${at}`])))
    expect(answers.map(([held, missing]) => [held?.value.toString(), missing])).toEqual(answers.map((_, at) => [String(at), undefined]))
  })
})
