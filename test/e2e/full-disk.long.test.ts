/** A data folder on a small disk that fills up. The test needs the right to mount one. */
import { execFileSync } from 'node:child_process'
import { mkdirSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { ask, makeServiceFolder, startService } from '../../harness/deployment/service.ts'
import { until } from '../../harness/until.ts'

const REPORT = 'mutation ($input: ReportProgressInput!) { reportProgress(input: $input) { outcome } }'
const READ = '{ viewerHistory(first: 10) { edges { node { viewerProgress { position } } } } }'
const mayMount = process.platform === 'linux' && process.getuid?.() === 0

describe.skipIf(!mayMount)('a full disk', { timeout: 180_000 }, () => {
  test('refuses writes with STORE_FULL, answers reads, reports it in /health/ready, and recovers', async () => {
    const { folder, remove } = makeServiceFolder()
    const data = join(folder, 'data')
    mkdirSync(data)
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=24m', 'tmpfs', data])
    const service = await startService({ folder })
    try {
      const ready = async () => (await (await fetch(new URL('/health/ready', service.url))).json()) as { ok: boolean; writes?: false }
      const report = (id: number) =>
        ask(service.url, '1', REPORT, { input: { business: 'video', id: String(id), position: 10_000, device: 'd'.repeat(60) } })
      expect((await report(0)).errors).toBeUndefined()
      const { bavail, bsize } = statfsSync(data)
      writeFileSync(join(data, 'filler'), Buffer.alloc(bavail * bsize - 2 * 2 ** 20))
      await until('it notices', async () => (await ready()).writes === false, 10_000)
      const codes = new Set<string | undefined>()
      for (let id = 1; id < 400; id++) codes.add((await report(id)).errors?.[0]?.extensions.code)
      expect(codes).toEqual(new Set(['STORE_FULL']))
      expect((await ready()).ok).toBe(true)
      expect(JSON.stringify((await ask(service.url, '1', READ)).data)).toContain('10000')
      expect(
        service
          .log()
          .split('\n')
          .filter((line) => line !== '' && !line.startsWith('{')),
      ).toEqual([])
      expect(service.log().length).toBeLessThan(20_000)
      rmSync(join(data, 'filler'))
      await until('it takes writes', async () => (await report(1)).errors === undefined, 10_000)
      await until('it is ready for writes', async () => (await ready()).writes === undefined, 10_000)
    } finally {
      await service.kill()
      execFileSync('umount', [data])
      remove()
    }
  })

  test('of a tenant refuses only the marks of the tenant, and is reported for the tenant', async () => {
    const { folder, remove } = makeServiceFolder()
    const own = join(folder, 'own')
    mkdirSync(own)
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=24m', 'tmpfs', own])
    const businesses = [
      { number: 1, name: 'video', entity: 'Video' },
      { number: 2, name: 'article', entity: 'Article', thumbup: { stores: { data: own } } },
    ]
    const service = await startService({ folder, settings: { businesses } })
    try {
      const ready = async () =>
        (await (await fetch(new URL('/health/ready', service.url))).json()) as { writes?: false; tenants: { article: object } }
      const mark = async (business: string, id: string) => {
        const answer = await ask(
          service.url,
          '1',
          `mutation { setMark(input: { business: "${business}", id: "${id}", mark: LIKE }) { outcome } }`,
        )
        return answer.errors?.[0]?.extensions.code ?? answer.data.setMark.outcome
      }
      expect([await mark('article', '5'), await mark('video', '5')]).toEqual(['ACCEPTED', 'ACCEPTED'])
      expect((await ready()).tenants.article).not.toHaveProperty('writes')
      const { bavail, bsize } = statfsSync(own)
      writeFileSync(join(own, 'filler'), Buffer.alloc(bavail * bsize - 2 * 2 ** 20))
      await until('the tenant takes no writes', async () => 'writes' in (await ready()).tenants.article, 10_000)
      expect(await ready()).toMatchObject({ ok: true, tenants: { article: { hotStore: 'ok', writes: false } } })
      expect(await ready()).not.toHaveProperty('writes')
      expect([await mark('article', '6'), await mark('video', '6')]).toEqual(['STORE_FULL', 'ACCEPTED'])
    } finally {
      await service.kill()
      execFileSync('umount', [own])
      remove()
    }
  })
})
