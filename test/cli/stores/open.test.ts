/** Conditions that stop the start of a process of the distributed shape, and conditions that do not. */
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { systemClock } from '../../../core/clock.ts'
import { makeConfig } from '../../../config/config.ts'
import { openStores } from '../../../cli/stores/history.ts'
import { redisIsHere, startRedis } from '../../../harness/deployment/redis-servers.ts'
import type { TestServers } from '../../../harness/deployment/redis-servers.ts'
import { freePorts } from '../../../harness/deployment/ports.ts'

const logger = { debug() {}, info() {}, warn() {}, error() {} }

describe.skipIf(!(await redisIsHere()))('opening the stores of the distributed shape', () => {
  let servers: TestServers
  beforeAll(async () => {
    servers = await startRedis()
    const admin = new Redis(servers.urls[0] as string)
    await admin.config('SET', 'requirepass', 'right')
    admin.disconnect()
  })
  afterAll(() => servers.stop())

  /** Kafka and MySQL are not available. */
  async function open(redis: object) {
    const [kafka = 0, mysql = 0] = await freePorts(2)
    const values = {
      redis: { urls: servers.urls, ...redis },
      kafka: { brokers: [`127.0.0.1:${kafka}`] },
      mysql: { url: `mysql://tidemark@127.0.0.1:${mysql}/tidemark` },
    }
    return openStores(makeConfig([{ name: 'test', values: { stores: values } }]), systemClock, logger)
  }

  it('ends with CONFIG_INVALID and one sentence if Redis refuses the password, and leaves no connection open', async () => {
    await expect(open({ password: 'wrong' })).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: expect.stringMatching(
        /^Redis at 127.0.0.1:\d+ refuses the password of user "default" \(.*\): correct stores.redis.username/,
      ) as string,
    })
    const admin = new Redis(servers.urls[0] as string, { password: 'right' })
    expect(String(await admin.client('LIST'))).not.toContain('name=tidemark')
    admin.disconnect()
  })

  it('continues while servers do not answer', async () => {
    const [port] = await freePorts(1)
    const stores = await open({ urls: [`redis://127.0.0.1:${port}`] })
    await expect(stores.hot.getSettings('1')).rejects.toMatchObject({ code: 'HOT_STORE_UNAVAILABLE' })
    await stores.close()
  })
})
