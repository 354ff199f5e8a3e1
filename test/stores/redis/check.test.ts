/** The findings of `checkRedis` on servers with wrong settings; and TLS. */
import { Redis } from 'ioredis'
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { findProgram } from '../../../scripts/servers/packages.ts'
import { checkRedis } from '../../../stores/redis/check.ts'
import { openRedisHotStore } from '../../../subgraphs/history/stores/redis/hot-store.ts'
import { redisIsHere, startCluster, startRedis } from '../../../harness/deployment/redis-servers.ts'
import type { TestServers } from '../../../harness/deployment/redis-servers.ts'
import { freePorts } from '../../../harness/deployment/ports.ts'

const GOOD = ['maxmemory 100mb', 'appendfsync always']

describe.skipIf(!(await redisIsHere()))('checking Redis', () => {
  let servers: TestServers
  let admin: Redis
  beforeAll(async () => {
    servers = await startRedis(GOOD)
    admin = new Redis(servers.urls[0] as string)
  })
  afterAll(async () => {
    admin.disconnect()
    await servers.stop()
  })

  const sentences = async (now?: () => number) =>
    (await checkRedis({ urls: servers.urls }, now)).map(({ severity, sentence }) => `${severity}: ${sentence}`)

  it('finds nothing on a server with correct settings', async () => {
    expect(await sentences()).toEqual([])
  })

  it.each([
    ['maxmemory-policy', 'allkeys-lru', 'noeviction', /^wrong: maxmemory-policy is allkeys-lru, .* set noeviction$/],
    ['appendonly', 'no', 'yes', /^wrong: the append-only file is off/],
    ['appendfsync', 'everysec', 'always', /^risky: appendfsync is everysec/],
    ['appendfsync', 'no', 'always', /^wrong: appendfsync is no: .* half a minute or more; set always$/],
    ['maxmemory', '0', '100mb', /^risky: maxmemory is not set/],
  ])('finds that %s is %s', async (name, bad, good, sentence) => {
    await admin.config('SET', name, bad)
    const found = await sentences()
    await admin.config('SET', name, good)
    expect(found).toEqual([expect.stringMatching(sentence)])
  })

  it('detects a clock difference', async () => {
    expect(await sentences(() => Date.now() - 5_000)).toEqual([expect.stringMatching(/^risky: its clock differs by (49\d\d|50\d\d) ms/)])
  })

  it('detects a single server in place of a Cluster, and the reverse', async () => {
    const cluster = await startCluster([...GOOD, 'cluster-require-full-coverage no'])
    try {
      const replicated = await checkRedis({ urls: cluster.urls })
      expect(replicated.map(({ sentence }) => sentence)).toEqual(
        Array(3).fill(expect.stringMatching(/^min-replicas-to-write is 0: .* set 1/)),
      )
      for (const url of cluster.urls) {
        const node = new Redis(url)
        await node.config('SET', 'min-replicas-to-write', '1')
        node.disconnect()
      }
      expect(await checkRedis({ urls: cluster.urls })).toEqual([])
      for (const value of ['yes', 'no']) {
        for (const port of cluster.ports) {
          const each = new Redis(port, '127.0.0.1')
          await each.config('SET', 'cluster-require-full-coverage', value)
          each.disconnect()
        }
        const found = await checkRedis({ urls: cluster.urls })
        expect(found.map(({ sentence }) => sentence)).toEqual(
          value === 'no' ? [] : [1, 2, 3].map(() => expect.stringMatching(/^cluster-require-full-coverage is yes: .* set no$/) as string),
        )
      }
      const alone = await checkRedis({ urls: cluster.urls.slice(0, 1), cluster: false })
      expect(alone).toEqual([
        {
          severity: 'wrong',
          name: 'redis-cluster',
          node: `127.0.0.1:${cluster.ports[0]}`,
          sentence: expect.stringContaining('is a node of a Cluster') as string,
        },
      ])
    } finally {
      await cluster.stop()
    }
    const [url] = servers.urls as [string]
    const twice = await checkRedis({ urls: [url, url.replace('127.0.0.1', 'localhost')], retryMaxMs: 300 })
    expect(twice).toEqual([
      expect.objectContaining({
        severity: 'wrong',
        sentence: expect.stringMatching(/^this server is not a Cluster: .* name one address$/) as string,
      }),
    ])
  })

  it('rejects if no server answers', async () => {
    const [port] = await freePorts(1)
    await expect(checkRedis({ urls: [`redis://127.0.0.1:${port}`], retryMaxMs: 200 })).rejects.toMatchObject({
      code: 'HOT_STORE_UNAVAILABLE',
    })
  })

  it.skipIf(findProgram('openssl') === undefined)(
    'connects over TLS to a server with a known certificate, and to no server with an unknown one',
    async () => {
      const folder = mkdtempSync(join(tmpdir(), 'tidemark-tls-'))
      const [certificate, key] = [join(folder, 'certificate.pem'), join(folder, 'key.pem')]
      const request = [
        'req',
        '-x509',
        '-newkey',
        'rsa:2048',
        '-nodes',
        '-days',
        '2',
        '-subj',
        '/CN=localhost',
        '-addext',
        'subjectAltName=DNS:localhost',
      ]
      execFileSync('openssl', [...request, '-keyout', key, '-out', certificate], { stdio: 'ignore' })
      const [tlsPort] = await freePorts(1)
      const files = [`tls-cert-file ${certificate}`, `tls-key-file ${key}`, `tls-ca-cert-file ${certificate}`]
      const secure = await startRedis([`tls-port ${tlsPort}`, 'tls-auth-clients no', 'user tidemark on >opensesame ~* &* +@all', ...files])
      const url = `rediss://tidemark:opensesame@localhost:${tlsPort}`
      const trusting = openRedisHotStore({ urls: [url], regions: 2, tls: { ca: readFileSync(certificate, 'utf8') } })
      const wary = openRedisHotStore({ urls: [url], regions: 2, retryMaxMs: 300 })
      try {
        await trusting.check()
        await trusting.setPaused('1', true, Date.now())
        expect(await trusting.getSettings('1')).toMatchObject({ paused: true })
        await expect(wary.check()).rejects.toMatchObject({
          code: 'HOT_STORE_UNAVAILABLE',
          message: expect.stringContaining('no trusted authority has signed its certificate: set tls.ca') as string,
        })
      } finally {
        await trusting.close()
        await wary.close()
        await secure.stop()
        rmSync(folder, { recursive: true, force: true })
      }
    },
  )
})
