/** Servers that lose acknowledged writes: reported at start and while running, and in production a reason not to start. */
import { setTimeout as sleep } from 'node:timers/promises'
import { Registry } from '@prometheus-io/client'
import { Redis } from 'ioredis'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { makeReadiness } from '../../../cli/process/readiness.ts'
import { startStoreWatch, type StoreWatch, type StoreWatchOptions } from '../../../cli/process/store-watch.ts'
import { systemClock } from '../../../core/clock.ts'
import { makeConfig } from '../../../config/config.ts'
import { examinationsOf } from '../../../cli/stores/examine.ts'
import { makeServiceFolder, startService } from '../../../harness/deployment/service.ts'
import { freePorts } from '../../../harness/deployment/ports.ts'
import { until } from '../../../harness/until.ts'
import { redisIsHere, startRedis, type TestServers } from '../../../harness/deployment/redis-servers.ts'

const GOOD = ['maxmemory 100mb', 'maxmemory-policy noeviction', 'appendonly yes', 'appendfsync always', 'save ""']
const silent = { debug() {}, info() {}, warn() {}, error() {} }

describe.skipIf(!(await redisIsHere()))('the watch over the stores', { timeout: 120_000 }, () => {
  let servers: TestServers
  let admin: Redis
  let nobody = 0
  const watches: StoreWatch[] = []
  beforeAll(async () => {
    servers = await startRedis(GOOD)
    admin = new Redis(servers.urls[0] as string)
    ;[nobody = 0] = await freePorts(1)
  })
  afterEach(async () => {
    for (const watch of watches.splice(0)) watch.stop()
    await admin.config('SET', 'maxmemory-policy', 'noeviction')
  })
  afterAll(async () => {
    admin.disconnect()
    await servers.stop()
  })

  const storesAt = (redis: object, tenant?: object) => ({
    stores: {
      redis,
      kafka: { brokers: [`127.0.0.1:${nobody}`] },
      mysql: { url: `mysql://tidemark@127.0.0.1:${nobody}/tidemark` },
    },
    businesses: [{ number: 1, name: 'video', entity: 'Video', ...(tenant && { thumbup: { stores: { redis: tenant } } }) }],
  })

  /** Checks every Redis of the configuration. */
  async function watch(options: Partial<StoreWatchOptions> = {}, redis: object = { urls: servers.urls }, tenant?: object) {
    const lines: Record<string, unknown>[] = []
    const say = (level: string) => (fields: object, message: string) => void lines.push({ level, message, ...fields })
    const log = { error: say('error'), warn: say('warn'), info: say('info') } as never
    const registry = new Registry()
    const config = makeConfig([{ name: 'test', values: storesAt(redis, tenant) }])
    const examinations = examinationsOf(config, systemClock, silent).filter(({ store }) => store === 'hotStore')
    const started = await startStoreWatch(
      examinations,
      { production: false, allow: [], everyMs: 50, ...options },
      systemClock,
      log,
      registry,
    )
    watches.push(started)
    return { ...started, lines, metric: () => registry.getSingleMetricAsString('tidemark_store_findings') }
  }

  test('reports nothing for a valid server', async () => {
    const { lines, warnings, metric } = await watch({ production: true })
    expect([lines, warnings()]).toEqual([[], []])
    expect(await metric()).not.toContain('finding=')
  })

  test('refuses a start in production on an evicting policy, unless it is allowed by name', async () => {
    await admin.config('SET', 'maxmemory-policy', 'allkeys-lru')
    await expect(watch({ production: true })).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: expect.stringMatching(/^hotStore: 127.*allkeys-lru.*set noeviction; to start anyway, add redis-eviction to stores\.allow$/),
    })
    const allowed = await watch({ production: true, allow: ['redis-eviction'] })
    expect([allowed.lines, allowed.warnings()]).toEqual([[], []])
    expect(await allowed.metric()).toContain('finding="redis-eviction",level="allowed"')
  })

  test('reports a policy changed at run time once, and its correction once', async () => {
    const { lines, warnings, metric } = await watch()
    await admin.config('SET', 'maxmemory-policy', 'allkeys-lru')
    await until('it is found', () => warnings().includes('redis-eviction'), 10_000)
    await sleep(300)
    expect(lines).toEqual([
      expect.objectContaining({
        level: 'error',
        store: 'hotStore',
        finding: 'redis-eviction',
        reason: expect.stringContaining('allkeys-lru'),
      }),
    ])
    expect(await metric()).toContain('finding="redis-eviction",level="wrong"')
    const store = { check: async () => undefined }
    const ready = makeReadiness({ hot: store, log: store, records: store, warnings }, systemClock)
    expect(await ready()).toMatchObject({ ok: true, warnings: ['redis-eviction'] })
    await admin.config('SET', 'maxmemory-policy', 'noeviction')
    await until('it is gone', () => warnings().length === 0, 10_000)
    await sleep(300)
    expect(lines.slice(1)).toEqual([expect.objectContaining({ level: 'info', finding: 'redis-eviction' })])
  })

  test('detects that the address is a replica, which accepts writes and loses them', async () => {
    const [port] = servers.ports
    const replica = await startRedis([...GOOD, `replicaof 127.0.0.1 ${port}`, 'replica-read-only no'])
    try {
      await expect(watch({ production: true }, { urls: replica.urls })).rejects.toMatchObject({
        message: expect.stringMatching(/this is a replica.*add redis-replica/),
      })
      const { warnings } = await watch({}, { urls: replica.urls })
      expect(warnings()).toContain('redis-replica')
    } finally {
      await replica.stop()
    }
  })

  test('starts beside a server that does not answer, and checks it once it does', async () => {
    const bad = await startRedis([...GOOD.slice(2), 'maxmemory 100mb', 'maxmemory-policy allkeys-lru'])
    try {
      await bad.kill(bad.ports[0] as number)
      const { warnings, lines } = await watch({ production: true }, { urls: bad.urls })
      expect([warnings(), lines]).toEqual([[], []])
      await bad.start()
      await until('it is found', () => warnings().includes('redis-eviction'), 20_000)
      await bad.kill(bad.ports[0] as number)
      await sleep(500)
      expect(warnings()).toContain('redis-eviction')
      expect(lines).toHaveLength(1)
    } finally {
      await bad.stop()
    }
  })

  test('reports the checks that an account without CONFIG and INFO prevents', async () => {
    await admin.acl('SETUSER', 'managed', 'on', '>secret', '~*', '&*', '+@all', '-config')
    await admin.acl('SETUSER', 'blind', 'on', '>secret', '~*', '&*', '+@all', '-config', '-info', '-time')
    await admin.config('SET', 'maxmemory-policy', 'allkeys-lru')
    const managed = await watch({}, { urls: servers.urls, username: 'managed', password: 'secret' })
    expect(managed.warnings().toSorted()).toEqual(['redis-eviction', 'redis-unchecked'])
    const blind = await watch({ production: true }, { urls: servers.urls, username: 'blind', password: 'secret' })
    expect(blind.warnings()).toEqual(['redis-unchecked'])
  })

  test('names the business of an own server with a finding, and starts anyway', async () => {
    const own = await startRedis([...GOOD.slice(2), 'maxmemory 100mb', 'maxmemory-policy volatile-ttl'])
    try {
      const { warnings, lines } = await watch({ production: true }, { urls: servers.urls }, { urls: own.urls })
      expect(warnings()).toEqual(['video: redis-eviction'])
      expect(lines).toEqual([expect.objectContaining({ business: 'video', finding: 'redis-eviction' })])
    } finally {
      await own.stop()
    }
  })

  test('every role refuses in production, and warns in development', async () => {
    await admin.config('SET', 'maxmemory-policy', 'allkeys-lru')
    // Concurrently: each start waits some seconds for the servers that do not answer.
    await Promise.all([['gateway'], ['job', 'history'], ['subgraph', 'history'], ['start']].map(refusesAndWarns))
  })

  async function refusesAndWarns(command: readonly string[]): Promise<void> {
    const role = command.join(' ')
    const { folder, remove } = makeServiceFolder()
    const begin = (mode: string) =>
      startService({
        folder,
        command,
        settings: storesAt({ urls: servers.urls }),
        environment: { TIDEMARK_MODE: mode, TIDEMARK_JWT_SECRET: 'a secret of at least thirty-two bytes' },
      })
    await expect(begin('production'), role).rejects.toThrow(/status 1: .*CONFIG_INVALID: hotStore: .*redis-eviction/s)
    const service = await begin('development')
    try {
      const { origin } = new URL(service.url)
      const ready = (await (await fetch(`${origin}/health/ready`)).json()) as { warnings: string[] }
      expect(ready.warnings, role).toContain('redis-eviction')
      expect(await (await fetch(`${origin}/metrics`)).text(), role).toMatch(/tidemark_store_findings\{[^}]*redis-eviction/)
      expect(service.log().match(/may lose data or fail/g), role).toHaveLength(1)
    } finally {
      await service.kill()
      remove()
    }
  }
})
