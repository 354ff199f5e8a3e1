import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { FlushMessage } from '../../../writeback/log.ts'
import { service } from '../../../harness/deployment/services.ts'
import { REGIONS, makeTopics } from './setup.ts'
import { until } from '../../../harness/until.ts'

const address = await service('kafka')

const flush = (region: number, oid: string): FlushMessage => ({ region, keys: [{ viewer: String(region), business: 1, oid }] })
const oidsOf = (messages: readonly FlushMessage[]) => messages.flatMap((message) => message.keys.map((key) => key.oid))

describe.skipIf(address === undefined)('the group that persists the log', () => {
  let topics: Awaited<ReturnType<typeof makeTopics>>
  beforeAll(async () => {
    topics = await makeTopics({ brokers: [address as string] })
  })
  afterAll(() => topics.dispose())

  it('two consumers share the regions, the remaining one takes all, and nothing is lost', async () => {
    const [one, two] = [await topics.open(), await topics.open()]
    const taken: FlushMessage[] = []
    const hooks = { persist: async ({ messages }: { messages: readonly FlushMessage[] }) => void taken.push(...messages) }
    const first = await one.consumeFlushes(hooks)
    expect(first.ownedRegions()).toHaveLength(REGIONS)
    let appended = 0
    let isAppending = true
    const appending = (async () => {
      while (isAppending) await one.appendFlushes([flush(appended % REGIONS, `a${appended++}`)])
    })()
    const second = await two.consumeFlushes(hooks)
    await until('both own a half', () => first.ownedRegions().length > 0 && second.ownedRegions().length > 0)
    const owned = [...first.ownedRegions(), ...second.ownedRegions()]
    expect(new Set(owned).size).toBe(REGIONS)
    expect(owned).toHaveLength(REGIONS)
    await first.stop()
    expect(first.ownedRegions()).toEqual([])
    await until('the other owns all', () => second.ownedRegions().length === REGIONS)
    isAppending = false
    await appending
    await until('nothing lags', async () => (await two.lag()) === 0)
    const oids = new Set(oidsOf(taken))
    expect(Array.from({ length: appended }, (_, i) => `a${i}`).filter((oid) => !oids.has(oid))).toEqual([])
    await second.stop()
  })

  it('a batch held by a killed process goes to another', async () => {
    const log = await topics.open()
    const args = [join(import.meta.dirname, 'hold-process.ts'), address as string, topics.topicPrefix, topics.groupId]
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
    await log.appendFlushes([flush(7, 'held')])
    await once(child.stdout, 'data')
    child.kill('SIGKILL')
    await once(child, 'close')
    const taken: FlushMessage[] = []
    const consumer = await log.consumeFlushes({ persist: async ({ messages }) => void taken.push(...messages) })
    await until('the message', () => oidsOf(taken).includes('held'))
    await consumer.stop()
  })

  it('a batch that takes longer than the session is persisted once, and its member keeps its regions', async () => {
    const log = await topics.open({ sessionMaxMs: 1_500 })
    let calls = 0
    const consumer = await log.consumeFlushes({
      async persist() {
        calls++
        await sleep(4_000)
      },
    })
    await log.appendFlushes([flush(3, 'slow')])
    await until('it is committed', async () => calls > 0 && (await log.lag()) === 0)
    expect(calls).toBe(1)
    expect(log.consumerRestarts()).toBe(0)
    expect(consumer.ownedRegions()).toHaveLength(REGIONS)
    await consumer.stop()
  })

  it('a record store that is down for longer than the session gets the same batch until it accepts it', async () => {
    const log = await topics.open({ sessionMaxMs: 1_500 })
    const seen: string[][] = []
    let end: number | undefined
    const consumer = await log.consumeFlushes({
      async persist({ messages }) {
        seen.push(oidsOf(messages))
        end ??= Date.now() + 4_000
        if (Date.now() < end) throw new Error('the record store is down')
      },
    })
    await log.appendFlushes([flush(3, 'x'), flush(3, 'y')])
    await until('it is committed', async () => (await log.lag()) === 0)
    expect(seen.length).toBeGreaterThan(3)
    // Delays double each time, from 100 ms on.
    expect(seen.length).toBeLessThan(12)
    for (const oids of seen) expect(oids).toEqual(['x', 'y'])
    expect(log.consumerRestarts()).toBe(0)
    await consumer.stop()
  })

  it('a rebalance waits for the batch under way, and its commit counts', async () => {
    const [one, two] = [await topics.open(), await topics.open()]
    const taken: string[] = []
    let isHolding = false
    const first = await one.consumeFlushes({
      async persist({ messages }) {
        isHolding = true
        await sleep(2_500)
        taken.push(...oidsOf(messages))
      },
    })
    await one.appendFlushes([flush(11, 'once')])
    await until('the batch', () => isHolding)
    const second = await two.consumeFlushes({ persist: async ({ messages }) => void taken.push(...oidsOf(messages)) })
    await until('nothing lags', async () => (await one.lag()) === 0)
    expect(taken).toEqual(['once'])
    await Promise.all([first.stop(), second.stop()])
  })

  it('batches have at most the given number of keys', async () => {
    const log = await topics.open({ batchKeysMax: 10 })
    const sizes: number[] = []
    await log.appendFlushes(
      Array.from({ length: 25 }, (_, i) => ({ region: 0, keys: [1, 2, 3].map((n) => ({ viewer: '0', business: 1, oid: `${i}-${n}` })) })),
    )
    const consumer = await log.consumeFlushes({ persist: async ({ messages }) => void sizes.push(oidsOf(messages).length) })
    await until('nothing lags', async () => (await log.lag()) === 0)
    await consumer.stop()
    expect(Math.max(...sizes)).toBeLessThanOrEqual(10)
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(75)
  })

  it('a flush too large for one message arrives in pieces, complete', async () => {
    const log = await topics.open()
    const oids = Array.from({ length: 60_000 }, (_, i) => `${i}`.padStart(40, 'o'))
    await log.appendFlushes([{ region: 5, keys: oids.map((oid) => ({ viewer: '5', business: 1, oid })) }])
    const taken: FlushMessage[] = []
    const consumer = await log.consumeFlushes({ persist: async ({ messages }) => void taken.push(...messages) })
    await until('nothing lags', async () => (await log.lag()) === 0)
    await consumer.stop()
    expect(new Set(oidsOf(taken))).toEqual(new Set(oids))
    expect(taken.length).toBeGreaterThan(8)
  })

  it('unreadable messages are parked with their reason and offset, and other regions continue', async () => {
    const log = await topics.open()
    await topics.appendRaw(topics.names.flushes, 4, Buffer.from([0xff, 0xff, 0xff]))
    await topics.appendRaw(topics.names.flushes, 4, null)
    const other = await topics.open({ regions: REGIONS * 10 })
    await other.appendFlushes([flush(104, 'foreign')])
    await log.appendFlushes([flush(4, 'good')])
    const [taken, reasons, places]: [FlushMessage[], string[], (object | undefined)[]] = [[], [], []]
    const consumer = await log.consumeFlushes({
      persist: async ({ messages }) => void taken.push(...messages),
      parked: (reason, where) => {
        reasons.push(reason)
        places.push(where)
      },
    })
    await until('nothing lags', async () => (await log.lag()) === 0)
    await consumer.stop()
    expect(oidsOf(taken)).toEqual(['good'])
    expect(reasons).toHaveLength(3)
    const dead = await topics.readAll(topics.names.dead)
    expect(new Set(dead.map(({ headers }) => headers['reason']))).toEqual(new Set(reasons))
    expect(dead).toHaveLength(3)
    const standing = dead.map(({ headers: { topic, partition, offset } }) => `${topic} ${partition} ${offset} ${topics.names.dead}`)
    expect(places.map((at) => Object.values(at ?? {}).join(' ')).toSorted()).toEqual(standing.toSorted())
    expect(dead.every(({ headers }) => headers['topic'] === topics.names.flushes && /^\d+$/.test(headers['offset'] ?? ''))).toBe(true)
    expect(dead.some(({ value }) => value?.equals(Buffer.from([0xff, 0xff, 0xff])))).toBe(true)
    expect(reasons.some((reason) => reason.includes('region 104 is not one of the 100'))).toBe(true)
  })
})
