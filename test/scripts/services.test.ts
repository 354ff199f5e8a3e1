/** Servers from `scripts/services up` are durable, servers for tests are fast. */
import { execFileSync } from 'node:child_process'
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { checkRedis } from '../../stores/redis/check.ts'
import { redisIsHere } from '../../harness/deployment/redis-servers.ts'
import { freePorts } from '../../harness/deployment/ports.ts'

const REDIS_OFFSET = 379

describe.skipIf(!(await redisIsHere()))('the Redis of scripts/services', { timeout: 120_000 }, () => {
  let folder: string
  let base: number
  beforeEach(async () => {
    // A separate clone: the servers of this clone may be up.
    folder = mkdtempSync(join(tmpdir(), 'tidemark-services-'))
    cpSync(join(import.meta.dirname, '..', '..', 'scripts'), join(folder, 'scripts'), { recursive: true })
    writeFileSync(join(folder, 'package.json'), '{"type": "module"}')
    const [port = 0] = await freePorts(1)
    base = port - REDIS_OFFSET
  })
  afterEach(() => {
    services('down', 'redis')
    rmSync(folder, { recursive: true, force: true })
  })

  const services = (...args: string[]) =>
    execFileSync(process.execPath, [join(folder, 'scripts', 'services.ts'), ...args], {
      env: { ...process.env, TIDEMARK_SERVICES_PORTS: String(base) },
      stdio: ['ignore', 'pipe', 'pipe'],
    }).toString()

  test('passes the checks of doctor', async () => {
    services('up', 'redis')
    const findings = await checkRedis({ urls: [`redis://127.0.0.1:${base + REDIS_OFFSET}`] })
    expect(findings.filter(({ severity, sentence }) => severity === 'wrong' || /appendfsync/.test(sentence))).toEqual([])
  })

  test('does not wait for the disk if it is for tests', async () => {
    services('up', '--for-tests', 'redis')
    const redis = new Redis(base + REDIS_OFFSET, '127.0.0.1')
    expect(Object.values((await redis.config('GET', 'appendfsync')) as object)).toContain('no')
    redis.disconnect()
  })
})
