import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { settingOf, type LiveSetting } from '../../../config/live/live-setting.ts'
import { systemClock } from '../../../core/clock.ts'
import type { LiveValue } from '../../../core/live-value.ts'
import { redisIsHere, startCluster, startRedis, type TestServers } from '../../../harness/deployment/redis-servers.ts'
import { until } from '../../../harness/until.ts'
import { followRedisValue, openRedisValue } from '../../../stores/redis/live-value.ts'

type Colour = { colour: string }
const setting = (name: string): LiveSetting<Colour> => settingOf(name, z.object({ colour: z.string().min(1) }).strict())
const red = { colour: 'red' }
const green = { colour: 'green' }
const blue = { colour: 'blue' }
/** A poll that never comes, so that only a notice can be the reason. */
const NEVER_MS = 3_600_000

const here = await redisIsHere()

describe.skipIf(!here)('a live value in Redis', () => {
  let servers: TestServers
  let admin: Redis
  const opened: (() => unknown)[] = []
  const open = (name: string) => {
    const source = openRedisValue(setting(name), { urls: servers.urls })
    opened.push(() => source.close())
    return source
  }
  const follow = async (name: string, more: { pollMs?: number; retryMaxMs?: number } = {}) => {
    const sentences: string[] = []
    const options = { urls: servers.urls, pollMs: NEVER_MS, ...more }
    const live = await followRedisValue(setting(name), red, options, systemClock, (sentence) => sentences.push(sentence))
    opened.push(() => live.stop())
    return { live, sentences }
  }
  const arrives = (live: LiveValue<Colour>, value: Colour) => until(value.colour, () => live.current().value.colour === value.colour)

  beforeAll(async () => {
    servers = await startRedis()
    admin = new Redis(servers.urls[0] as string)
    admin.on('error', () => undefined)
  })
  afterAll(async () => {
    for (const close of opened) await close()
    admin.disconnect()
    await servers.stop()
  })

  it('is that of the configuration until one is set, and then reaches every process without a poll', async () => {
    const [one, other] = [await follow('reach'), await follow('reach')]
    expect(one.live.current()).toEqual({ value: red, version: 0 })
    // The subscription comes up in the background, so the value is changed until a notice is received.
    const source = open('reach')
    let { version } = await source.change(green, 0)
    await until('a notice', async () => {
      version = (await source.change(green, version)).version
      return one.live.current().version > 0 && other.live.current().version > 0
    })
    const told: number[] = []
    one.live.follow((now) => told.push(now.version))
    const changed = await source.change(blue, version)
    await arrives(one.live, blue)
    await arrives(other.live, blue)
    expect(told).toContain(changed.version)
    expect(one.live.current()).toEqual(changed)
  })

  it('of two changes of one version, one is stored and the other is refused with its code', async () => {
    const source = open('race')
    const { version } = await source.change(red, 0)
    const settled = await Promise.allSettled([source.change(green, version), open('race').change(blue, version)])
    const lost = settled.filter((each) => each.status === 'rejected')
    expect(lost).toHaveLength(1)
    expect(lost[0]?.reason).toMatchObject({ code: 'LIVE_VALUE_CHANGED', message: expect.stringContaining(`not ${version}`) as string })
    const [won] = settled.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []))
    expect(await source.read()).toEqual(won)
  })

  it('a change that is sent again after a lost answer is stored once and succeeds', async () => {
    const source = open('again')
    const first = await source.change(green, 0)
    expect(await source.change(green, 0)).toEqual(first)
    await expect(source.change(blue, 0)).rejects.toMatchObject({ code: 'LIVE_VALUE_CHANGED' })
  })

  it('an invalid value is refused, and one that another program stored is reported once and not used', async () => {
    const source = open('invalid')
    await expect(source.change({ colour: '' }, 0)).rejects.toMatchObject({ code: 'CONFIG_INVALID' })
    expect(await source.read()).toBeUndefined()
    const { version } = await source.change(green, 0)
    const { live, sentences } = await follow('invalid', { pollMs: 20 })
    await admin.hset('tm:{live-invalid}', 'version', version + 1, 'text', '{"color":"blue"}')
    await until('a report', () => sentences.length > 0)
    const polls = await admin.info('commandstats')
    await until('more polls', async () => (await admin.info('commandstats')) !== polls)
    expect(sentences).toHaveLength(1)
    expect(sentences[0]).toMatch(/invalid\.color is not a setting.*: the last value of invalid stays$/)
    expect(live.current().value).toEqual(green)
  })

  it('a poll finds a change whose notice was lost', async () => {
    const { live } = await follow('poll', { pollMs: 20 })
    await admin.hset('tm:{live-poll}', 'version', 5, 'text', JSON.stringify(blue))
    await arrives(live, blue)
  })

  it('after a loss of the key the last value stays, and the next change has a higher version', async () => {
    const source = open('loss')
    const { version } = await source.change(green, 0)
    const { live, sentences } = await follow('loss', { pollMs: 20 })
    await admin.del('tm:{live-loss}')
    await until('a report', () => sentences.length > 0)
    expect(live.current()).toEqual({ value: green, version })
    await source.change(blue, 0)
    await arrives(live, blue)
  })

  it('while Redis is down the last value stays, a process may start, and both have the newest value when it is back', async () => {
    const source = open('outage')
    const { version } = await source.change(green, 0)
    const before = await follow('outage', { pollMs: 50, retryMaxMs: 200 })
    await servers.kill(servers.ports[0] as number)
    await until('a report', () => before.sentences.length > 0)
    expect(before.live.current()).toEqual({ value: green, version })
    const meanwhile = await follow('outage', { pollMs: 50, retryMaxMs: 200 })
    expect(meanwhile.live.current()).toEqual({ value: red, version: 0 })
    await servers.start()
    await arrives(meanwhile.live, green)
    await source.change(blue, version)
    await arrives(before.live, blue)
    await arrives(meanwhile.live, blue)
  })
})

describe.skipIf(!here)('a live value in a Redis Cluster', () => {
  it('is stored and followed as in one server', async () => {
    const servers = await startCluster()
    const source = openRedisValue(setting('cluster'), { urls: servers.urls })
    try {
      const live = await followRedisValue(setting('cluster'), red, { urls: servers.urls }, systemClock, () => undefined)
      await source.change(green, 0)
      await until('green', () => live.current().value.colour === 'green')
      await live.stop()
    } finally {
      source.close()
      await servers.stop()
    }
  })
})
