import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { systemClock } from '../../../core/clock.ts'
import { openKafkaLog } from '../../../writeback/stores/kafka/log.ts'
import type { FlushMessage } from '../../../writeback/log.ts'
import { service } from '../../../harness/deployment/services.ts'
import { makeBroker } from './broker.ts'
import { makeProxy } from './proxy.ts'
import { REGIONS, makeLogger, makeTopics } from './setup.ts'
import { until } from '../../../harness/until.ts'
import { freePorts } from '../../../harness/deployment/ports.ts'

const address = await service('kafka')

const flush = (region: number, oid: string): FlushMessage => ({ region, keys: [{ viewer: String(region), business: 1, oid }] })
const oidsOf = (messages: readonly FlushMessage[]) => messages.flatMap((message) => message.keys.map((key) => key.oid))

describe.skipIf(address === undefined)('a broker in trouble', () => {
  let broker: Awaited<ReturnType<typeof makeBroker>>
  beforeAll(async () => {
    broker = await makeBroker()
    await broker.start()
  })
  afterAll(() => broker.dispose())

  it('killed and restarted during appends: an append fails as LOG_UNAVAILABLE or is not lost', async () => {
    const topics = await makeTopics({ brokers: [broker.address] })
    const log = await topics.open({ appendMaxMs: 2_000 })
    const taken = new Set<string>()
    const consumer = await log.consumeFlushes({ persist: async ({ messages }) => oidsOf(messages).forEach((oid) => taken.add(oid)) })
    const acknowledged: string[] = []
    const codes = new Set<string>()
    let isWriting = true
    const writers = Array.from({ length: 8 }, async (_, writer) => {
      for (let i = 0; isWriting; i++) {
        const oid = `${writer}-${i}`
        await log.appendFlushes([flush((writer * 13 + i) % REGIONS, oid)]).then(
          () => acknowledged.push(oid),
          (error: { code: string }) => codes.add(error.code),
        )
        await sleep(1)
      }
    })
    for (let round = 0; round < 2; round++) {
      await sleep(1_500)
      await broker.kill()
      const before = acknowledged.length
      await sleep(round === 0 ? 500 : 3_000)
      await broker.start()
      await until('appends succeed again', () => acknowledged.length > before + 20)
    }
    isWriting = false
    await Promise.all(writers)
    expect([...codes]).toEqual(['LOG_UNAVAILABLE'])
    await until('everything acknowledged came', () => acknowledged.every((oid) => taken.has(oid)))
    await until('nothing lags', async () => (await log.lag().catch(() => 1)) === 0)
    await consumer.stop()
    await topics.dispose()
  })

  it('killed, it leaves a consumer its last owned regions, and no others', async () => {
    const topics = await makeTopics({ brokers: [broker.address] })
    const [one, two] = [await topics.open(), await topics.open()]
    const hooks = { persist: () => Promise.resolve() }
    const [first, second] = [await one.consumeFlushes(hooks), await two.consumeFlushes(hooks)]
    const isShared = () => first.ownedRegions().length > 0 && first.ownedRegions().length + second.ownedRegions().length === REGIONS
    await until('both own a part', isShared)
    const owned = first.ownedRegions()
    await broker.kill()
    await until('both have noticed', () => one.consumerRestarts() > 0 && two.consumerRestarts() > 0)
    expect(first.ownedRegions()).toEqual(owned)
    expect(second.ownedRegions()).toHaveLength(REGIONS - owned.length)
    await broker.start()
    await until('they share again', isShared)
    await Promise.all([first.stop(), second.stop()])
    expect(first.ownedRegions()).toEqual([])
    await topics.dispose()
  })

  it('a broker that hangs is detected by the watchdog, and when it answers again consuming continues', async () => {
    const topics = await makeTopics({ brokers: [broker.address] })
    const log = await topics.open({ hungAfterMs: 2_000, sessionMaxMs: 1_500 })
    const taken: FlushMessage[] = []
    const consumer = await log.consumeFlushes({ persist: async ({ messages }) => void taken.push(...messages) })
    await log.appendFlushes([flush(1, 'before')])
    await until('the first message', () => oidsOf(taken).includes('before'))
    broker.signal('SIGSTOP')
    try {
      await until('a restart', () => log.consumerRestarts() > 0)
    } finally {
      broker.signal('SIGCONT')
    }
    expect(topics.logger.entries.some(({ message }) => message.includes('the consumer of the log has ended'))).toBe(true)
    await until(
      'an append',
      async () =>
        log.appendFlushes([flush(1, 'after')]).then(
          () => true,
          () => false,
        ),
      30_000,
    )
    await until('the later message', () => oidsOf(taken).includes('after'))
    await until('all regions', () => consumer.ownedRegions().length === REGIONS)
    await consumer.stop()
    await topics.dispose()
  })

  it('without a broker every call fails as LOG_UNAVAILABLE in time, a consumer waits, and all recover with the broker', async () => {
    const topics = await makeTopics({ brokers: [broker.address] })
    await broker.kill()
    const options = {
      connection: { brokers: [broker.address] },
      regions: REGIONS,
      topicPrefix: topics.topicPrefix,
      groupId: topics.groupId,
      appendMaxMs: 1_000,
    }
    const collaborators = { clock: systemClock, logger: makeLogger() }
    await expect(openKafkaLog(options, collaborators)).rejects.toMatchObject({ code: 'LOG_UNAVAILABLE' })
    const log = await openKafkaLog({ ...options, mayBeDown: true }, collaborators)
    const began = Date.now()
    await expect(log.appendFlushes([flush(1, 'x')])).rejects.toMatchObject({ code: 'LOG_UNAVAILABLE' })
    expect(Date.now() - began).toBeLessThan(2_500)
    await expect(log.check()).rejects.toMatchObject({ code: 'LOG_UNAVAILABLE' })
    await expect(log.lag()).rejects.toMatchObject({ code: 'LOG_UNAVAILABLE' })
    const taken: FlushMessage[] = []
    const consumer = await log.consumeFlushes({ persist: async ({ messages }) => void taken.push(...messages) })
    // The owners are unknown, so all regions are swept.
    expect(consumer.ownedRegions()).toHaveLength(REGIONS)
    await broker.start()
    await until(
      'an append',
      async () =>
        log.appendFlushes([flush(1, 'y')]).then(
          () => true,
          () => false,
        ),
      30_000,
    )
    await log.check()
    await until('the appended message', () => oidsOf(taken).includes('y'))
    await until('all regions', () => consumer.ownedRegions().length === REGIONS)
    await consumer.stop()
    await log.close()
    await topics.dispose()
  })
})

describe.skipIf(address === undefined)('a network that loses answers', () => {
  let broker: Awaited<ReturnType<typeof makeBroker>>
  let proxy: Awaited<ReturnType<typeof makeProxy>>
  let proxyPort = 0
  beforeAll(async () => {
    proxyPort = (await freePorts(1))[0] ?? 0
    broker = await makeBroker([`advertised.listeners=CLIENT://127.0.0.1:${proxyPort}`])
    await broker.start()
    proxy = await makeProxy(proxyPort, broker.port)
  })
  afterAll(async () => {
    await proxy.close()
    await broker.dispose()
  })

  it('an append after one whose answer was lost is stored, and not treated as its repetition', async () => {
    const topics = await makeTopics({ brokers: [`127.0.0.1:${proxyPort}`], requestMaxMs: 3_000 })
    const log = await topics.open({ appendMaxMs: 8_000 })
    await log.appendFlushes([flush(1, 'first')])
    proxy.mute(true)
    await expect(log.appendFlushes([flush(1, 'answer lost')])).rejects.toMatchObject({ code: 'LOG_UNAVAILABLE' })
    proxy.mute(false)
    await log.appendFlushes([flush(1, 'second')])
    const taken: FlushMessage[] = []
    const consumer = await log.consumeFlushes({ persist: async ({ messages }) => void taken.push(...messages) })
    await until('the last message', () => oidsOf(taken).includes('second'))
    // The broker did store it, so it arrives too: at least once.
    expect(oidsOf(taken)).toContain('answer lost')
    await consumer.stop()
    await topics.dispose()
  })
})
