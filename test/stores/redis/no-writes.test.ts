/** A Redis that answers PING and accepts no writes. */
import { Redis } from 'ioredis'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { systemClock } from '../../../core/clock.ts'
import { isTidemarkError } from '../../../core/errors.ts'
import { guardStores } from '../../../subgraphs/history/stores/guarded.ts'
import type { HotStore } from '../../../subgraphs/history/stores/hot-store.ts'
import { openRedisHotStore } from '../../../subgraphs/history/stores/redis/hot-store.ts'
import { report, write } from '../../contracts/reports.ts'
import { makeSwitchedStores } from '../../subgraphs/switched-stores.ts'
import { redisIsHere, startRedis } from '../../../harness/deployment/redis-servers.ts'
import type { TestServers } from '../../../harness/deployment/redis-servers.ts'
import { until } from '../../../harness/until.ts'
import { freePorts } from '../../../harness/deployment/ports.ts'

const timelineCap = 100

describe.skipIf(!(await redisIsHere()))('a Redis that accepts no writes', () => {
  let servers: TestServers
  let admin: Redis
  let hot: HotStore
  beforeAll(async () => {
    servers = await startRedis()
    admin = new Redis(servers.urls[0] as string)
    hot = openRedisHotStore({ urls: servers.urls, regions: 4, retryMaxMs: 300 })
    await hot.check()
  })
  afterAll(async () => {
    await hot.close()
    admin.disconnect()
    await servers.stop()
  })

  const codeOf = (call: Promise<unknown>) =>
    call.then(
      () => 'taken',
      (error: unknown) => (isTidemarkError(error) ? error.code : 'none of ours'),
    )
  const put = (store: HotStore, viewer = '1') =>
    store.putProgress([write(viewer, '1', report(Date.now()))], { now: Date.now(), timelineCap })

  it.each([
    ['has too few replicas', ['CONFIG', 'SET', 'min-replicas-to-write', '1'], ['CONFIG', 'SET', 'min-replicas-to-write', '0']],
    ['is a replica', ['REPLICAOF', '127.0.0.1', 'FREE'], ['REPLICAOF', 'NO', 'ONE']],
    ['is full', ['CONFIG', 'SET', 'maxmemory', '1mb'], ['CONFIG', 'SET', 'maxmemory', '0']],
  ])('because it %s, fails its check as a write fails', async (_, spoil, mend) => {
    const [port] = await freePorts(1)
    const [command = '', ...args] = spoil.map((word) => (word === 'FREE' ? String(port) : word))
    const [mending = '', ...mendingArgs] = mend
    await admin.call(command, args)
    try {
      expect(await codeOf(hot.check())).toBe(await codeOf(put(hot)))
      expect(await codeOf(hot.check())).not.toBe('taken')
      expect(await codeOf(hot.check(2))).not.toBe('taken')
    } finally {
      await admin.call(mending, mendingArgs)
    }
    await until('it takes writes again', async () => (await codeOf(put(hot))) === 'taken')
    await hot.check()
  })

  it('is waited for once: the breaker stays open until writes are accepted', async () => {
    const patient = openRedisHotStore({ urls: servers.urls, regions: 4, retryMaxMs: 1_000 })
    await patient.check()
    const { log, records } = makeSwitchedStores()
    const guarded = guardStores(systemClock, { hot: patient, log, records }, { checkEveryMs: 200 }, () => undefined)
    await admin.config('SET', 'min-replicas-to-write', '1')
    const end = Date.now() + 4_000
    let slow = 0
    await Promise.all(
      Array.from({ length: 10 }, async (_, writer) => {
        while (Date.now() < end) {
          const started = performance.now()
          expect(await codeOf(put(guarded.hot, String(writer)))).toBe('HOT_STORE_UNAVAILABLE')
          if (performance.now() - started > 500) slow++
          await sleep(20)
        }
      }),
    )
    expect(guarded.breakers.hotStore.opened()).toBe(1)
    expect(slow).toBeLessThanOrEqual(10)
    await admin.config('SET', 'min-replicas-to-write', '0')
    await until('the breaker closes', () => !guarded.breakers.hotStore.isOpen())
    expect(await codeOf(put(guarded.hot))).toBe('taken')
    guarded.stop()
    await patient.close()
  })
})
