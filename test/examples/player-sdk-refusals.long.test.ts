/** The player SDK at a server that runs only operations of manifests (`persisted.mode: enforce`) and takes no writes of one business. */
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { makeReporter, type Reporter, type ReporterOptions } from '../../examples/player-sdk/player.ts'
import { ask, makeServiceFolder, startService, type Service } from '../../harness/deployment/service.ts'
import { apollo, makeManifestFolder } from '../../harness/samples/manifests.ts'
import { memoryStorage } from './memory-storage.ts'

const ROOT = join(import.meta.dirname, '..', '..')
const COMMAND = join(ROOT, 'cli', 'tidemark.ts')

const CLOCK = 'query PlayerClock {\n  __typename\n}'

const manifests = makeManifestFolder()
const data = makeServiceFolder()
const reporters: Reporter[] = []
let service: Service

/** Runs the command of docs/clients/player.md. */
function persistSdk(...flags: string[]): void {
  const args = ['examples/player-sdk', '--schema', 'schema/supergraph.graphql', '--out', manifests.path('player.json'), ...flags]
  execFileSync(process.execPath, [COMMAND, 'persist', ...args], { cwd: ROOT })
}

async function expectServed(): Promise<void> {
  await expect.poll(async () => (await ask(service.url, '7', CLOCK)).data).toEqual({ __typename: 'Query' })
}

beforeAll(async () => {
  manifests.write('app.json', apollo({ name: 'Settings', body: 'query Settings { historySettings { paused } }' }))
  const persisted = { mode: 'enforce', manifests: [manifests.folder], watchEveryMs: 100 }
  const businesses = [
    { number: 1, name: 'video', entity: 'Video' },
    { number: 2, name: 'article', entity: 'Article', enabled: false },
  ]
  service = await startService({ folder: data.folder, settings: { persisted, businesses } })
})
afterEach(() => {
  for (const reporter of reporters.splice(0)) reporter.close()
})
afterAll(async () => {
  await service.stop()
  data.remove()
  manifests.remove()
})

/** A reporter, the texts that it sent, and its troubles. */
function open(account: string, options: Partial<ReporterOptions> = {}) {
  const texts: string[] = []
  const troubles: string[] = []
  const reporter = makeReporter({
    ...{ url: service.url, business: 'video', account, device: 'tv', storage: memoryStorage() },
    headers: () => ({ 'x-viewer-id': account }),
    onTrouble: (code) => troubles.push(code),
    fetch: (url, init) => {
      texts.push((JSON.parse(init?.body as string) as { query: string }).query)
      return fetch(url, init)
    },
    ...options,
  })
  reporters.push(reporter)
  return { reporter, texts, troubles }
}

test('a server whose manifests lack the SDK gets one call in five seconds, and the report arrives when it has the manifest', async () => {
  const storage = memoryStorage()
  const { reporter, texts, troubles } = open('early', { storage })
  reporter.watch('1', 600_000).stop(42_000)
  await sleep(5_000)
  expect([troubles, texts.length, reporter.waiting()]).toEqual([['PERSISTED_QUERY_NOT_IN_LIST'], 1, 1])
  await expect(reporter.resume('2')).rejects.toMatchObject({ code: 'PERSISTED_QUERY_NOT_IN_LIST' })
  reporter.close()
  persistSdk()
  const next = open('early', { storage })
  await expect
    .poll(async () => {
      await next.reporter.flush()
      return next.reporter.waiting()
    })
    .toBe(0)
  expect(await next.reporter.resume('1')).toMatchObject({ position: 42_000, device: 'tv' })
})

test('with the manifest of its operations, reports are stored and resume points are read', async () => {
  persistSdk()
  await expectServed()
  const { reporter, texts, troubles } = open('7')
  reporter.watch('1', 600_000).stop(42_000)
  reporter.watch('2', 600_000).stop(77_000, true)
  await expect.poll(() => reporter.waiting()).toBe(0)
  expect(await reporter.resume('1')).toMatchObject({ position: 42_000, duration: 600_000, device: 'tv', finished: false })
  expect(await reporter.resume('2')).toMatchObject({ position: 77_000, finished: true })
  expect(await reporter.resume('3')).toBeNull()
  expect(troubles).toEqual([])
  expect([...new Set(texts.map((text) => /\w+ \w+/.exec(text)?.[0]))]).toEqual([
    'query PlayerClock',
    'mutation PlayerReport',
    'query PlayerResume',
  ])
  const other = await ask(service.url, '7', '{ __typename }')
  expect(other.errors?.[0]?.extensions.code).toBe('PERSISTED_QUERY_NOT_IN_LIST')
})

test('a manifest for one client program serves an SDK whose headers name this program', async () => {
  persistSdk('--client', 'web')
  await expect.poll(async () => (await ask(service.url, '8', CLOCK)).errors?.[0]?.extensions.code).toBe('PERSISTED_QUERY_NOT_IN_LIST')
  const { reporter, troubles } = open('8', { headers: () => ({ 'x-viewer-id': '8', 'graphql-client-name': 'web' }) })
  reporter.watch('1').stop(42_000)
  await expect.poll(() => reporter.waiting()).toBe(0)
  expect(await reporter.resume('1')).toMatchObject({ position: 42_000 })
  expect(troubles).toEqual([])
})

test.each([
  ['article', 'BUSINESS_DISABLED'],
  ['vidoe', 'BUSINESS_UNKNOWN'],
])('reports of the business %s wait in the queue, and the page gets %s', async (business, code) => {
  persistSdk()
  await expectServed()
  const { reporter, troubles } = open('waits', { business })
  reporter.watch('1').stop(10)
  await expect.poll(() => troubles).toEqual([code])
  await sleep(3_000)
  expect([troubles, reporter.waiting()]).toEqual([[code], 1])
})
