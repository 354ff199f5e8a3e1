/** `tidemark layout`, run as by an operator, against a real Redis. */
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { followCacheLayout } from '../../cli/stores/cache-layout.ts'
import { makeConfig } from '../../config/config.ts'
import { systemClock } from '../../core/clock.ts'
import { redisIsHere, startRedis, type TestServers } from '../../harness/deployment/redis-servers.ts'
import { until } from '../../harness/until.ts'

const COMMAND = join(import.meta.dirname, '..', '..', 'cli', 'tidemark.ts')
const KAFKA_AND_MYSQL = { kafka: { brokers: ['127.0.0.1:1'] }, mysql: { url: 'mysql://nobody@127.0.0.1:1/tidemark' } }

describe.skipIf(!(await redisIsHere()))('tidemark layout', () => {
  let servers: TestServers
  let folder: string

  beforeAll(async () => {
    servers = await startRedis()
    folder = mkdtempSync(join(tmpdir(), 'tidemark-layout-'))
    const stores = { redis: { urls: servers.urls }, ...KAFKA_AND_MYSQL }
    write('tidemark.yaml', { cache: { layoutFrom: 'redis', layout: { main: ['first:1'] } }, stores })
    write('by-file.yaml', { cache: { layoutFrom: 'two.yaml' } })
    write('two.yaml', { main: ['a:1', 'a:2*3'], backup: ['b:1'] })
    write('three.yaml', { main: ['a:1', 'a:2*3', 'a:3'], l1: [['c:1'], ['c:2']] })
    write('no-main.yaml', { backup: ['b:1'] })
    write('unknown.yaml', { main: ['a:1'], l2: ['b:1'] })
    writeFileSync(join(folder, 'empty.yaml'), '')
    write('node.yaml', { main: ['memcached-1'] })
  })
  afterAll(async () => {
    rmSync(folder, { recursive: true, force: true })
    await servers.stop()
  })

  // JSON is YAML.
  const write = (name: string, value: unknown): void => writeFileSync(join(folder, name), JSON.stringify(value))

  function run(...args: string[]): Promise<{ status: number; out: string; error: string }> {
    return new Promise((resolve) => {
      execFile(process.execPath, [COMMAND, 'layout', ...args], { cwd: folder }, (failure, out, error) =>
        resolve({ status: failure === null ? 0 : Number(failure.code), out, error }),
      )
    })
  }
  const versionIn = (out: string): string => /version (\d+)/.exec(out)?.[1] ?? `no version in ${out}`

  it('shows the layout of the configuration, sets another one at its version, and a running process takes it over', async () => {
    const config = makeConfig([
      {
        name: 'test',
        values: {
          cache: { layoutFrom: 'redis', layout: { main: ['first:1'] } },
          stores: { redis: { urls: servers.urls }, ...KAFKA_AND_MYSQL },
        },
      },
    ])
    const live = await followCacheLayout(config, systemClock, { warn: () => undefined })
    try {
      expect(live.current()).toEqual({ value: { main: ['first:1'], l1: [] }, version: 0 })
      expect(await run('show')).toMatchObject({
        status: 0,
        out: expect.stringMatching(/^# version 0, .*\nmain:\n {2}- first:1\n/) as string,
      })
      const set = await run('set', 'two.yaml', '--expect', '0')
      expect(set).toMatchObject({ status: 0, out: expect.stringMatching(/^version \d+ is set/) as string })
      await until('the new layout', () => live.current().value?.backup?.[0] === 'b:1')
      expect(String(live.current().version)).toBe(versionIn(set.out))
      expect((await run('show')).out).toBe(`# version ${versionIn(set.out)}\nmain:\n  - a:1\n  - a:2*3\nbackup:\n  - b:1\nl1: []\n`)
    } finally {
      await live.stop()
    }
  })

  it('of two changes at once the second is refused, and changes nothing', async () => {
    const version = versionIn((await run('show')).out)
    expect(await run('set', 'three.yaml', '--expect', version)).toMatchObject({ status: 0 })
    const late = await run('set', 'two.yaml', '--expect', version)
    expect(late).toMatchObject({
      status: 1,
      error: expect.stringMatching(/^LIVE_VALUE_CHANGED: cache.layout has version \d+, not \d+: look/) as string,
    })
    expect((await run('show')).out).toContain('c:2')
  })

  it.each([
    [['set', 'no-main.yaml', '--expect', '0'], /cache.layout.main: it is missing: give a list/],
    [['check', 'unknown.yaml'], /cache.layout.l2 is not a setting/],
    [['check', 'node.yaml'], /cache.layout.main.0: "memcached-1" is not possible: write host:port/],
    [['check', 'empty.yaml'], /empty.yaml is empty: write the value of cache.layout into it\n$/],
    [['check', 'absent.yaml'], /absent.yaml cannot be read/],
    [['set', 'two.yaml'], /needs --expect with the version that `tidemark layout show` prints/],
    [['set', 'two.yaml', '--expect', 'newest'], /needs --expect/],
    [['set'], /needs a file/],
    [['change'], /"change" is not a command of layout: use show, check FILE or set FILE/],
    [['set', 'two.yaml', '--expect', '0', '--config', 'by-file.yaml'], /processes take the layout from .*two.yaml: change it there/],
  ])('%j is refused with a sentence', async (args, sentence) => {
    expect(await run(...args)).toMatchObject({ status: 1, out: '', error: expect.stringMatching(sentence) as string })
  })

  it('checks a file without a server, and shows the file that processes follow', async () => {
    expect(await run('check', 'three.yaml')).toMatchObject({ status: 0, out: 'three.yaml is a valid layout\n' })
    expect((await run('show', '--config', 'by-file.yaml')).out).toMatch(/^# from .*two.yaml\nmain:\n/)
  })
})
